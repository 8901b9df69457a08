// SPDX-License-Identifier: Apache-2.0
#include "models/tasks/extraction/words.h"

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/unicode/text_tables.h"
#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::models {

namespace unicode = tokenizer::unicode;
namespace utf8 = tokenizer::utf8;

namespace {

// What Python's \w matches: letters, numbers and the underscore.
bool is_of_word(char32_t c) {
  return c == '_' || unicode::text_flags(c) & unicode::kLetter || unicode::is_numeric(c);
}

}  // namespace

std::vector<Word> split_words(std::string_view text) {
  if (const size_t invalid = utf8::first_invalid(text); invalid != std::string_view::npos) {
    throw std::runtime_error(fmt::format("the text is not valid UTF-8 at byte {}", invalid));
  }
  std::vector<Word> words;
  bool continues = false, joins = false;  // the last word; over a hyphen, which came just before
  int32_t scalar = 0;
  for (size_t at = 0; at < text.size(); ++scalar) {
    const size_t begin = at;
    const char32_t c = utf8::decode(text.data(), at);
    const bool is_word = is_of_word(c);
    if (is_word && (continues || joins)) {
      Word& last = words[words.size() - (joins ? 2 : 1)];
      const auto first = static_cast<size_t>(last.string.data() - text.data());
      last = {text.substr(first, at - first), {last.offset.begin, scalar + 1}};
      if (joins) words.pop_back();
    } else if (is_word || !unicode::is_python_space(c)) {
      words.push_back({text.substr(begin, at - begin), {scalar, scalar + 1}});
    }
    joins = continues && c == '-';
    continues = is_word;
  }
  return words;
}

}  // namespace bert::models

// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/mecab/japanese_words.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tokenizer/files/files.h"
#include "tokenizer/mecab/mecab_dictionary.h"

namespace bert::tokenizer {

namespace {

constexpr const char* kVariable = "BERT_INFER_MECAB";

// The dictionaries that models name: where Debian's packages put them, and the number of words in
// the version that the models were trained with.
struct NamedDictionary {
  const char *name, *debian;
  uint32_t words;  // 0: not known
};
constexpr NamedDictionary kDictionaries[] = {{"ipadic", "/var/lib/mecab/dic/ipadic-utf8", 392126},
                                             {"unidic_lite", nullptr, 756264},
                                             {"unidic", "/var/lib/mecab/dic/unidic", 0}};

// A folder that is a dictionary, or that has it in a folder of its own, as Python's packages do.
std::string folder_in(const std::string& parent, const std::string& name) {
  for (const std::string& path :
       {parent, fmt::format("{}/{}", parent, name), fmt::format("{}/{}/dicdir", parent, name)}) {
    if (is_there(path + "/sys.dic")) return path;
  }
  return "";
}

std::string find_dictionary(const TokenizerConfig& config) {
  const std::string& name = config.mecab.dictionary;
  const char* const variable = std::getenv(kVariable);
  const std::string given = variable == nullptr ? "" : variable;
  if (!given.empty()) {
    const std::string found = folder_in(given, name);
    if (!found.empty()) return found;
  }
  for (const NamedDictionary& known : kDictionaries) {
    if (known.name != name || known.debian == nullptr) continue;
    if (is_there(std::string(known.debian) + "/sys.dic")) return known.debian;
  }
  throw std::runtime_error(
      fmt::format("{}: mecab_kwargs.mecab_dic: found MeCab's dictionary \"{}\" neither where "
                  "Debian's packages put it nor in {}, expected the folder with its sys.dic there",
                  config.file, name,
                  given.empty() ? fmt::format("{} (which is not set)", kVariable)
                                : fmt::format("{}={}", kVariable, given)));
}

// Another version of a dictionary finds other words, which a model does not know as well.
void compare_counts(const std::string& directory, const MecabDictionary& dictionary,
                    const TokenizerConfig& config, Definition& out) {
  const uint32_t count = dictionary.words().count();
  for (const NamedDictionary& known : kDictionaries) {
    // Debian's package of ipadic has one word more than Python's.
    if (known.name != config.mecab.dictionary || known.words == 0) continue;
    if (count == known.words || count == known.words + 1) continue;
    out.notes.push_back(
        fmt::format("{}: found {} words, but {} has {}: other words than the model was trained on",
                    directory, count, known.name, known.words));
  }
}

void check_japanese(const TokenizerConfig& config) {
  const auto expect = [&](bool holds, const char* field, std::string_view found,
                          std::string_view expected) {
    if (holds) return;
    throw std::runtime_error(
        fmt::format("{}: {}: found {}, expected {}", config.file, field, found, expected));
  };
  const auto quoted = [](const std::string& text) { return fmt::format("\"{}\"", text); };
  expect(config.word_tokenizer_type == "mecab", "word_tokenizer_type",
         quoted(config.word_tokenizer_type), "\"mecab\"");
  expect(
      config.subword_tokenizer_type == "wordpiece" || config.subword_tokenizer_type == "character",
      "subword_tokenizer_type", quoted(config.subword_tokenizer_type),
      "\"wordpiece\" or \"character\"");
  expect(config.do_word_tokenize.value_or(true), "do_word_tokenize", "false", "true");
  expect(config.do_subword_tokenize.value_or(true), "do_subword_tokenize", "false", "true");
  expect(!config.do_lower_case.value_or(false), "do_lower_case", "true", "false");
  expect(config.mecab.normalizes, "mecab_kwargs.normalize_text", "false", "true");
  const auto is_it = [&](const NamedDictionary& known) {
    return known.name == config.mecab.dictionary;
  };
  expect(config.mecab.dictionary.empty() || std::ranges::any_of(kDictionaries, is_it),
         "mecab_kwargs.mecab_dic", quoted(config.mecab.dictionary),
         "\"ipadic\", \"unidic_lite\", \"unidic\" or null");
  // Without a dictionary's name, the option is where one was on the author's machine.
  expect(config.mecab.option.empty() || config.mecab.dictionary.empty(),
         "mecab_kwargs.mecab_option", quoted(config.mecab.option), "none");
}

}  // namespace

void cut_japanese_words(const TokenizerConfig& config, Definition& out) {
  check_japanese(config);
  const std::string directory = find_dictionary(config);
  const auto dictionary = std::make_shared<const MecabDictionary>(directory);
  compare_counts(directory, *dictionary, config, out);
  out.by_parts = out.first_gets_odd = true;
  out.normalizers = {{.kind = Normalizer::Kind::nfkc}};
  out.pre_tokenizers = {{.kind = PreTokenizer::Kind::mecab, .dictionary = dictionary}};
  if (config.subword_tokenizer_type == "character") {
    out.model = Definition::Model::word_level;
    out.pre_tokenizers.push_back({.kind = PreTokenizer::Kind::fixed_length, .length = 1});
    return;
  }
  // WordPiece drops what Python takes for white space, which a dictionary may take for a word.
  out.pre_tokenizers.push_back({.kind = PreTokenizer::Kind::whitespace_split});
  for (char32_t separator = 0x1C; separator <= 0x1F; ++separator) {
    out.pre_tokenizers.push_back({.kind = PreTokenizer::Kind::delimiter, .scalar = separator});
  }
}

}  // namespace bert::tokenizer

// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/served/encode_text.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/config/sentence_settings.h"
#include "models/directory/inspection.h"
#include "tokenizer/files/tokenizer_config.h"
#include "tokenizer/truncate.h"
#include "tokenizer/unicode/utf8.h"
#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {
namespace {

namespace utf8 = bert::tokenizer::utf8;

constexpr int kNoLimit = 1 << 30;

size_t size_of(const bert::TokenRange& range) {
  return static_cast<size_t>(range.end - range.begin);
}

void keep(bert::Encoding& encoding, bert::TokenRange& range, size_t kept, Side cut) {
  const auto size = static_cast<int32_t>(kept);
  const int32_t begin = cut == Side::left ? range.begin : range.begin + size;
  const int32_t end = cut == Side::left ? range.end - size : range.end;
  const auto erase = [&](auto& values) {
    values.erase(values.begin() + begin, values.begin() + end);
  };
  erase(encoding.ids);
  erase(encoding.type_ids);
  erase(encoding.offsets);
  range.end -= end - begin;
  if (&range == &encoding.first && encoding.second.end > 0) {  // which comes after it
    encoding.second.begin -= end - begin;
    encoding.second.end -= end - begin;
  }
}

void truncate(bert::Encoding& encoding, size_t most, Side cut) {
  if (encoding.ids.size() <= most) return;
  size_t first = size_of(encoding.first), second = size_of(encoding.second);
  const size_t special = encoding.ids.size() - first - second;
  if (special > most)
    throw RequestError(
        Refusal::validation,
        fmt::format("expected at most {} tokens, but {} are special tokens alone", most, special));
  tokenizer::longest_first(most - special, first, second);
  keep(encoding, encoding.second, second, cut);
  keep(encoding, encoding.first, first, cut);
  encoding.truncated = true;
}

// The byte at which each scalar of a text begins, and its end.
std::vector<size_t> scalar_bytes(const std::string& text) {
  std::vector<size_t> bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!utf8::is_continuation(text[i])) bytes.push_back(i);
  }
  bytes.push_back(text.size());
  return bytes;
}

// The padding token's id, or -1. If the files name none that is one, [PAD] or <pad>.
int32_t padding_of(const std::string& directory, const bert::Tokenizer& tokenizer) {
  auto named = tokenizer::read_tokenizer_config(directory).special_tokens;
  for (const std::string& token :
       {named["pad_token"].content, std::string("[PAD]"), std::string("<pad>")}) {
    if (token.empty()) continue;
    const bert::Encoding encoding = tokenizer.encode({token});
    const auto [begin, end] = encoding.first;
    if (end - begin == 1 && tokenizer.token(encoding.ids[begin]) == token) {
      return encoding.ids[begin];
    }
  }
  return -1;
}

}  // namespace

TextReader::TextReader(const std::string& directory, const bert::Model& model)
    : usual_(model.tokenizer()),
      limited_(bert::Tokenizer::load(directory, model.info().max_length)),
      whole_(bert::Tokenizer::load(directory, kNoLimit)),
      max_length_(model.info().max_length),
      vocabulary_(model.info().vocabulary) {
  models::Prompts prompts = models::read_prompts(directory);
  prompts_ = std::move(prompts.by_name);
  if (!prompts.default_name.empty() && !model.info().has_chat_template) {
    default_prompt_ = prompts_[prompts.default_name];
  }
  const std::string files = models::transformer_folder(directory);
  const tokenizer::TokenizerConfig config = tokenizer::read_tokenizer_config(files);
  cuts_left_ = models::truncates_left(model);
  if (whole_.mask_id() < 0) return;
  padding_ = padding_of(files, whole_);
  const bool is_bpe = model.info().tokenizer == "BPE";
  cleans_up_ =
      config.cleans_up.value_or(false) && (!is_bpe || config.cleans_up_bpe.value_or(false));
}

bert::Input TextReader::prompted(const bert::Input& input, const EncodeOptions& options) const {
  std::string prompt = default_prompt_;
  if (options.prompt) {
    const auto found = prompts_.find(*options.prompt);
    if (found == prompts_.end()) {
      std::vector<std::string> names;
      for (const auto& [name, text] : prompts_) names.push_back(name);
      refuse_field("prompt_name",
                   fmt::format("is '{}', expected {}", *options.prompt,
                               names.empty() ? "none, as the model has no prompts"
                                             : fmt::format("one of {}", fmt::join(names, ", "))));
    }
    prompt = found->second;
  }
  return {prompt + input.first, input.second};
}

bert::Encoding TextReader::encode(const bert::Input& input, const EncodeOptions& options) const {
  const auto encoded = [&] {
    const bool is_whole = options.cut || options.second || !options.truncates;
    if (is_whole) return whole_.encode(prompted(input, options));
    return options.prompt ? limited_.encode(prompted(input, options)) : usual_.encode(input);
  };
  bert::Encoding encoding;
  try {
    encoding = encoded();
  } catch (const bert::Error& error) {
    throw RequestError(Refusal::validation, error.what());
  }
  const auto second = static_cast<int64_t>(size_of(encoding.second));
  if (second > options.second.value_or(second)) {
    keep(encoding, encoding.second, static_cast<size_t>(*options.second), Side::right);
  }
  const size_t size = encoding.ids.size();
  if (!options.truncates && size > static_cast<size_t>(max_length_)) {
    throw RequestError(Refusal::validation,
                       fmt::format("found {} tokens, expected at most {}, as truncation is off",
                                   size, max_length_));
  }
  const Side usual = cuts_left_ ? Side::left : Side::right;
  truncate(encoding, static_cast<size_t>(max_length_), options.cut.value_or(usual));
  return encoding;
}

std::vector<int32_t> TextReader::check_ids(const std::vector<int64_t>& ids,
                                           const std::string& field) const {
  std::vector<int32_t> checked;
  checked.reserve(ids.size());
  for (const int64_t id : ids) {
    if (id < 0 || id >= vocabulary_) {
      refuse_field(field, fmt::format("holds the token id {}, expected one from 0 to {}", id,
                                      vocabulary_ - 1));
    }
    checked.push_back(static_cast<int32_t>(id));
  }
  return checked;
}

bert::Encoding TextReader::encode_ids(const std::vector<int64_t>& ids,
                                      const std::string& field) const {
  if (ids.empty()) throw RequestError(Refusal::empty, "`" + field + "` holds no token ids", field);
  if (std::ssize(ids) > max_length_) {
    refuse_field(field, fmt::format("holds {} token ids, expected at most {}: ids are not "
                                    "truncated",
                                    ids.size(), max_length_));
  }
  bert::Encoding encoding;
  encoding.ids = check_ids(ids, field);
  encoding.type_ids.resize(ids.size());
  return encoding;
}

std::vector<TextToken> TextReader::tokens(const std::string& text, const EncodeOptions& options,
                                          bool with_special) const {
  const bert::Input input = prompted({text}, options);
  bert::Encoding encoding;
  try {
    encoding = whole_.encode(input);
  } catch (const bert::Error& error) {
    throw RequestError(Refusal::validation, error.what());
  }
  const std::vector<size_t> bytes = scalar_bytes(input.first);
  std::vector<TextToken> tokens;
  for (int32_t i = 0; i < std::ssize(encoding.ids); ++i) {
    const bool special = i < encoding.first.begin || i >= encoding.first.end;
    if (special && !with_special) continue;
    const int32_t id = encoding.ids[i];
    if (special) {
      tokens.push_back({id, whole_.token(id), true, 0, 0});
    } else {
      const size_t begin = bytes[encoding.offsets[i].begin], end = bytes[encoding.offsets[i].end];
      tokens.push_back({id, input.first.substr(begin, end - begin), false, begin, end});
    }
  }
  return tokens;
}

std::string TextReader::decode(const std::vector<int64_t>& ids, bool skips_special,
                               const std::string& field) const {
  try {
    return whole_.decode(check_ids(ids, field), skips_special);
  } catch (const bert::Error& error) {
    throw RequestError(Refusal::validation, error.what());
  }
}

std::string TextReader::decode_filled(std::vector<int64_t> ids, bool skips_special) const {
  std::erase_if(ids, [this](int64_t id) { return !has_token(static_cast<int32_t>(id)); });
  std::string text = decode(ids, skips_special, "inputs");
  if (!cleans_up_) return text;
  // As transformers does, in this order.
  for (const std::string_view spaced :
       {" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're"}) {
    const std::string_view plain = spaced == " ' " ? "'" : spaced.substr(1);
    for (size_t at = 0; (at = text.find(spaced, at)) != text.npos; at += plain.size()) {
      text.replace(at, spaced.size(), plain);
    }
  }
  return text;
}

bool TextReader::has_token(int32_t id) const {
  try {
    whole_.token(id);
    return true;
  } catch (const bert::Error&) {  // the last rows of a model's embeddings may have no token
    return false;
  }
}

std::optional<int32_t> TextReader::id_of(std::string_view token) const {
  std::call_once(is_listed_, [this] {
    for (int32_t id = 0; id < vocabulary_; ++id) {
      if (has_token(id)) ids_.try_emplace(whole_.token(id), id);
    }
  });
  const auto found = ids_.find(token);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace bert::tools::serve

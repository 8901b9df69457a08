// SPDX-License-Identifier: Apache-2.0
//
// Ids back to text, as the decoders of Hugging Face's tokenizers do for the algorithms that this
// library has: WordPiece with its clean-up, Metaspace and ByteLevel.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/bytepair/byte_level.h"
#include "tokenizer/text_encoder_impl.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {
namespace {

using Tokens = std::vector<std::string_view>;

void append_replaced(std::string& out, std::string_view text, std::string_view from,
                     std::string_view to) {
  for (size_t at; (at = text.find(from)) != std::string_view::npos;) {
    out.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  out.append(text);
}

// Each token by itself, with the space before it.
void clean_up(std::string& token) {
  constexpr std::pair<std::string_view, std::string_view> kChanges[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (const auto& [from, to] : kChanges) {
    std::string changed;
    append_replaced(changed, token, from, to);
    token = std::move(changed);
  }
}

std::string decode_word_piece(const Tokens& tokens, std::string_view prefix) {
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool continues = i > 0 && tokens[i].starts_with(prefix);
    std::string token = i > 0 && !continues ? " " : "";
    token += tokens[i].substr(continues ? prefix.size() : 0);
    clean_up(token);
    text += token;
  }
  return text;
}

std::string decode_word_level(const Tokens& tokens) {
  std::string text;
  for (const std::string_view token : tokens) (text.empty() ? text : text += " ") += token;
  return text;
}

std::string decode_metaspace(const Tokens& tokens, bool prepends) {
  std::string text;
  for (size_t i = 0; i < tokens.size(); ++i) {
    append_replaced(text, tokens[i], "\u2581", i == 0 && prepends ? "" : " ");
  }
  return text;
}

// A part of a character becomes U+FFFD.
std::string well_formed(const std::string& bytes) {
  std::string text;
  for (size_t at = 0; at < bytes.size();) {
    char32_t c = 0;
    size_t length = utf8::decode_checked(bytes, at, c);
    if (length > 0) {
      text.append(bytes, at, length);
    } else {
      text += "\uFFFD";
      length = utf8::broken_length(bytes, at);
    }
    at += length;
  }
  return text;
}

std::string decode_byte_level(const Tokens& tokens) {
  std::string bytes;
  for (const std::string_view token : tokens) {
    bytes += bytes_of_token(token).value_or(std::string(token));
  }
  return well_formed(bytes);
}

}  // namespace

std::string TextEncoder::decode(std::span<const int32_t> ids, bool skips_special) const {
  Tokens tokens;
  for (const int32_t id : ids) {
    const std::string& token = impl_->vocabulary.token(id);
    if (skips_special && std::ranges::binary_search(impl_->special_ids, id)) continue;
    tokens.push_back(token);
  }
  switch (impl_->model) {
    case Definition::Model::word_piece:
      return decode_word_piece(tokens, impl_->continuing_prefix);
    case Definition::Model::unigram:
      return decode_metaspace(tokens, impl_->prepends_space);
    case Definition::Model::word_level:
      return decode_word_level(tokens);
    case Definition::Model::byte_pair:
      break;
  }
  return decode_byte_level(tokens);
}

}  // namespace bert::tokenizer

// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/vocabulary.h"

#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/unicode/unicode_tables.h"

namespace bert::tokenizer {

namespace {

// Punctuation is a word of its own, so a longer token that begins with it, such as "##ing", is not
// a word.
bool is_short_word(std::string_view token) {
  if (token.empty() || token.size() > WordTable::kMaxSize) return false;
  const auto first = static_cast<uint8_t>(token[0]);
  return token.size() == 1 || first >= 0x80 ||
         !(unicode::property(first).flags & unicode::kPunctuation);
}

}  // namespace

Vocabulary::Vocabulary(std::vector<std::pair<std::string, int32_t>> entries,
                       std::string_view continuing_prefix, bool has_words) {
  std::vector<DoubleArray::Entry> keys;
  keys.reserve(entries.size());
  for (const auto& [token, id] : entries) {
    keys.push_back({token, id});
    has_empty_ |= token.empty();
  }
  trie_ = DoubleArray(keys, continuing_prefix);
  std::erase_if(keys, [&](const auto& entry) { return !has_words || !is_short_word(entry.key); });
  words_ = WordTable(keys.size());
  for (const auto& [word, id] : keys) words_.insert(ShortWord::of(word), id);
  tokens_.reserve(entries.size());
  for (auto& entry : entries) name(entry.second, std::move(entry.first));
}

bool Vocabulary::has(int32_t id) const {
  return id >= 0 && id < end_id() && has_[static_cast<size_t>(id)];
}

const std::string& Vocabulary::token(int32_t id) const {
  if (!has(id)) {
    throw std::runtime_error(
        fmt::format("id {} is not in the vocabulary, whose ids are below {}", id, end_id()));
  }
  return tokens_[static_cast<size_t>(id)];
}

void Vocabulary::name(int32_t id, std::string token) {
  const auto index = static_cast<size_t>(id);
  if (index >= tokens_.size()) {
    tokens_.resize(index + 1);
    has_.resize(index + 1);
  }
  tokens_[index] = std::move(token);
  has_[index] = true;
}

int32_t UnknownToken::refuse_word() const {
  const std::string why = token_.empty()
                              ? "no unknown token is named"
                              : fmt::format("neither is the unknown token \"{}\"", token_);
  throw std::runtime_error(
      fmt::format("{}: a word of the text is not in the vocabulary, and {}", file_, why));
}

}  // namespace bert::tokenizer

// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/vocabulary.h"

#include <stdexcept>

#include <fmt/format.h>

namespace bert::tokenizer {

Vocabulary::Vocabulary(std::vector<std::pair<std::string, int32_t>> entries) {
  std::vector<DoubleArray::Entry> keys;
  keys.reserve(entries.size());
  for (const auto& [token, id] : entries) keys.push_back({token, id});
  trie_ = DoubleArray(std::move(keys));
  for (auto& [token, id] : entries) {
    if (find(token) != id) continue;  // a later entry spells the same
    name(id, std::move(token));
  }
}

int32_t Vocabulary::find(std::string_view token) const {
  uint32_t node = DoubleArray::kRoot;
  return trie_.walk(node, token) ? trie_.value(node) : kNone;
}

bool Vocabulary::has(int32_t id) const {
  return id >= 0 && id < end_id() && has_[static_cast<size_t>(id)];
}

const std::string& Vocabulary::token(int32_t id) const {
  if (!has(id)) {
    throw std::runtime_error(
        fmt::format("id {} is not in the vocabulary, whose ids lie below {}", id, end_id()));
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

}  // namespace bert::tokenizer

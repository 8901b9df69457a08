// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/unigram/charsmap.h"

#include <bit>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

static_assert(std::endian::native == std::endian::little);
constexpr uint32_t kNoScalar = ~uint32_t{0};

uint32_t offset_of(uint32_t unit) { return unit >> 10 << ((unit & 0x200) >> 6); }
uint32_t label_of(uint32_t unit) { return unit & 0x800000ff; }
bool has_leaf(uint32_t unit) { return unit & 0x100; }
uint32_t value_of(uint32_t unit) { return unit & 0x7fffffff; }

}  // namespace

Charsmap::Charsmap(std::string_view blob) {
  uint32_t size = 0;
  if (blob.size() >= sizeof size) std::memcpy(&size, blob.data(), sizeof size);
  if (blob.size() < sizeof size || size == 0 || size % sizeof(uint32_t) != 0 ||
      size > blob.size() - sizeof size) {
    throw std::runtime_error(
        fmt::format("not a charsmap: it has {} bytes, and a trie of {}", blob.size(), size));
  }
  units_.resize(size / sizeof(uint32_t));
  std::memcpy(units_.data(), blob.data() + sizeof size, size);
  const std::string_view replacements = blob.substr(sizeof size + size);
  if (const size_t at = utf8::first_invalid(replacements); at != std::string_view::npos) {
    throw std::runtime_error(
        fmt::format("the replacements of the charsmap are not valid UTF-8 at byte {}", at));
  }
  starts_.assign(replacements.size(), kNoScalar);
  for (size_t at = 0; at < replacements.size();) {
    starts_[at] = static_cast<uint32_t>(scalars_.size());
    scalars_ += utf8::decode(replacements.data(), at);
  }
  scalars_ += U'\0';
  for (int c = 0; c < 128; ++c) {
    const char byte = static_cast<char>(c);
    std::u32string_view ignored;
    keeps_.push_back(!find({&byte, 1}, ignored));
  }
}

bool Charsmap::find(std::string_view bytes, std::u32string_view& replacement) const {
  size_t node = offset_of(units_[0]);
  for (const char byte : bytes) {
    const auto label = static_cast<uint8_t>(byte);
    node ^= label;
    if (label == 0 || node >= units_.size() || label_of(units_[node]) != label) return false;
    const uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (node >= units_.size()) return false;
    if (!has_leaf(unit)) continue;
    const uint32_t value = value_of(units_[node]);
    if (value >= starts_.size() || starts_[value] == kNoScalar) return false;
    replacement = scalars_.data() + starts_[value];  // up to its NUL
    return true;
  }
  return false;
}

}  // namespace bert::tokenizer

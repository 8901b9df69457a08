// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace bert::tokenizer {

// Writes SentencePiece models, as protocol buffers by hand.
class SpieceBuilder {
 public:
  static constexpr int kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4;

  SpieceBuilder& piece(const std::string& text, float score, int type = kNormal) {
    std::string own = bytes(1, text) + "\x15";  // field 2, four bytes
    const auto bits = std::bit_cast<uint32_t>(score);
    for (int shift = 0; shift < 32; shift += 8) own += static_cast<char>(bits >> shift & 0xff);
    pieces_ += bytes(1, own + number(3, static_cast<uint64_t>(type)));
    return *this;
  }
  SpieceBuilder& kind(int kind) { return kind_ = kind, *this; }
  SpieceBuilder& unknown(int id) { return unknown_ = id, *this; }
  // The charsmap: one that replaces an ASCII character by `to`, or any blob.
  SpieceBuilder& map(char from, const std::string& to) {
    std::vector<uint32_t> units(1024);
    units[0] = 1 << 10 | 1 << 9;  // 256, as Darts writes its multiples
    units[256 ^ static_cast<uint8_t>(from)] =
        512 << 10 | 256 | static_cast<uint32_t>(static_cast<uint8_t>(from));
    units[256 ^ static_cast<uint8_t>(from) ^ 512] = 1u << 31;
    charsmap_ = four(static_cast<uint32_t>(4 * units.size()));
    for (const uint32_t unit : units) charsmap_ += four(unit);
    charsmap_ += to + '\0';
    return *this;
  }
  SpieceBuilder& charsmap(const std::string& blob) { return charsmap_ = blob, *this; }

  std::string build() const {
    const std::string trainer =
        number(3, static_cast<uint64_t>(kind_)) + number(40, static_cast<uint64_t>(unknown_));
    const std::string normalizer = charsmap_.empty() ? "" : bytes(2, charsmap_);
    return pieces_ + bytes(2, trainer) + bytes(3, normalizer);
  }

  static std::string bytes(int field, const std::string& content) {
    return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(content.size()) + content;
  }
  static std::string number(int field, uint64_t value) {
    return varint(static_cast<uint64_t>(field) << 3) + varint(value);
  }

 private:
  static std::string varint(uint64_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    return out + static_cast<char>(value);
  }
  static std::string four(uint32_t value) {
    std::string out;
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xff);
    return out;
  }

  std::string pieces_, charsmap_;
  int kind_ = 1, unknown_ = 0;
};

// ALBERT's special pieces, and a few others.
inline SpieceBuilder small_albert() {
  SpieceBuilder builder;
  builder.piece("<pad>", 0, SpieceBuilder::kControl).piece("<unk>", 0, SpieceBuilder::kUnknown);
  for (const char* name : {"[CLS]", "[SEP]", "[MASK]"}) {
    builder.piece(name, 0, SpieceBuilder::kControl);
  }
  builder.piece("\u2581", -3).piece("\u2581a", -2).piece("b", -4).piece("\u2581ab", -5);
  builder.piece("\"", -4).piece("1,", -1).piece("1", -3).piece(",", -3).piece("e", -6);
  return builder.unknown(1);
}

// XLM-RoBERTa's and CamemBERT's, and a few others.
inline SpieceBuilder small_roberta() {
  SpieceBuilder builder;
  builder.piece("<unk>", 0, SpieceBuilder::kUnknown).piece("<s>", 0, SpieceBuilder::kControl);
  builder.piece("</s>", 0, SpieceBuilder::kControl);
  return builder.piece("\u2581", -3)
      .piece("\u2581a", -2)
      .piece("b", -4)
      .piece("<x>", 0, SpieceBuilder::kUserDefined);
}

}  // namespace bert::tokenizer

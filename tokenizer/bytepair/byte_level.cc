// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bytepair/byte_level.h"

#include <cstring>

#include "tokenizer/unicode/text_tables.h"
#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

const std::array<char16_t, 256>& byte_characters() {
  static const std::array<char16_t, 256> characters = [] {
    std::array<char16_t, 256> out{};
    char16_t next = 0x100;
    for (char16_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
      out[byte] = printable ? byte : next++;
    }
    return out;
  }();
  return characters;
}

std::optional<std::string> bytes_of_token(std::string_view token) {
  constexpr size_t kCharacters = 0x144;  // U+0143 is the last one
  static const std::array<int16_t, kCharacters> bytes = [] {
    std::array<int16_t, kCharacters> out{};
    out.fill(-1);
    for (int16_t byte = 0; byte < 256; ++byte) out[byte_characters()[byte]] = byte;
    return out;
  }();
  std::string out;
  for (size_t at = 0; at < token.size();) {
    const char32_t c = utf8::decode(token.data(), at);
    if (c >= kCharacters || bytes[c] < 0) return std::nullopt;
    out += static_cast<char>(bytes[c]);
  }
  return out;
}

namespace {

enum Kind : uint8_t { kOther, kLetter, kNumber, kSpace, kBeyondAscii };

constexpr std::array<Kind, 256> kKinds = [] {
  std::array<Kind, 256> kinds{};
  for (int c = 0; c < 256; ++c) {
    const bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    const bool is_space = c == ' ' || (c >= '\t' && c <= '\r');
    kinds[c] = c >= 0x80              ? kBeyondAscii
               : is_letter            ? kLetter
               : c >= '0' && c <= '9' ? kNumber
               : is_space             ? kSpace
                                      : kOther;
  }
  return kinds;
}();

// digits: numbers are what Digits takes for them.
Kind kind_of(char32_t c, bool digits) {
  if (c < 0x80) return kKinds[c];
  if (digits && unicode::is_numeric(c)) return kNumber;
  const uint8_t flags = unicode::text_flags(c);
  if (flags & unicode::kLetter) return kLetter;
  if (flags & unicode::kNumber) return kNumber;
  return unicode::is_space(c) ? kSpace : kOther;
}

// kind_of() by a table where most scalars are.
class ScalarKinds {
 public:
  explicit ScalarKinds(bool digits) : digits_(digits) {
    for (char32_t c = 0; c < kinds_.size(); ++c) kinds_[c] = kind_of(c, digits);
    pairs_.fill(kBeyondAscii);
    for (char32_t c = 0x80; c < 0x800; ++c) {
      char bytes[2];
      utf8::encode(c, bytes);
      pairs_[place_of(bytes)] = kinds_[c];
    }
  }
  static const ScalarKinds& numbers() {
    static const ScalarKinds kinds(false);
    return kinds;
  }
  static const ScalarKinds& digits() {
    static const ScalarKinds kinds(true);
    return kinds;
  }

  Kind operator[](char32_t c) const { return c < kinds_.size() ? kinds_[c] : kind_of(c, digits_); }
  // Of the scalar that two bytes are; kBeyondAscii if they are none.
  Kind of_two(const char* bytes) const { return pairs_[place_of(bytes)]; }

 private:
  static size_t place_of(const char* bytes) {
    uint16_t place;
    std::memcpy(&place, bytes, sizeof place);
    return place;
  }

  bool digits_;
  std::array<Kind, 0x10000> kinds_, pairs_;
};

// Returns the kind of the scalar at `at`, and moves `at` past it, unless it is not well-formed.
[[gnu::always_inline]] inline Kind take(std::string_view text, size_t& at,
                                        const ScalarKinds& kinds) {
  const Kind kind = kKinds[static_cast<uint8_t>(text[at])];
  if (kind != kBeyondAscii) return ++at, kind;
  char32_t c = 0;
  const size_t length = utf8::decode_checked(text, at, c);
  at += length;
  return length == 0 ? kOther : kinds[c];
}

// Moves the end of a piece past the following scalars of this kind.
void take_all(std::string_view text, Kind kind, BytePiece& piece, const ScalarKinds& kinds) {
  size_t end = piece.end;
  int32_t scalars = piece.scalars;
  while (true) {
    const size_t begin = end;
    const auto lead = [&] { return static_cast<uint8_t>(text[end]); };
    while (end < text.size() && kKinds[lead()] == kind) ++end;
    scalars += static_cast<int32_t>(end - begin);
    for (; end + 1 < text.size() && kinds.of_two(text.data() + end) == kind; end += 2) ++scalars;
    size_t next = end;
    if (end == text.size() || take(text, next, kinds) != kind || next == end) break;
    end = next;
    ++scalars;
  }
  piece = {end, scalars};
}

size_t contraction(std::string_view text) {
  if (text.size() < 2) return 0;
  const char a = text[1], b = text.size() > 2 ? text[2] : '\0';
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
  return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d); its end is `at` if there is none. U+017F is also a small s.
BytePiece contraction_of_any_case(std::string_view text, size_t at) {
  if (text.substr(at + 1).starts_with("\u017f")) return {at + 3, 2};
  char lower[3] = {'\'', '\0', '\0'};
  for (size_t i = 1; i < 3 && at + i < text.size(); ++i) {
    const char c = text[at + i];
    lower[i] = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  }
  const size_t length = contraction({lower, 3});
  return {at + length, static_cast<int32_t>(length)};
}

bool is_line_end(char c) { return c == '\r' || c == '\n'; }

void take_one(std::string_view text, BytePiece& piece, const ScalarKinds& kinds) {
  take(text, piece.end, kinds);
  ++piece.scalars;
}

// Whether a well-formed scalar of this kind follows the piece.
bool follows(std::string_view text, const BytePiece& piece, Kind kind, const ScalarKinds& kinds) {
  if (piece.end == text.size()) return false;
  size_t next = piece.end;
  return take(text, next, kinds) == kind && next > piece.end;
}

// White space before anything else leaves its last character to that.
BytePiece without_last_space(std::string_view text, const BytePiece& piece) {
  if (piece.end == text.size() || piece.scalars == 1) return piece;
  size_t last = piece.end - 1;
  while (utf8::is_continuation(text[last])) --last;
  return {last, piece.scalars - 1};
}

// White space up to its last line end; without one, as above.
BytePiece next_space_piece(std::string_view text, size_t at, const ScalarKinds& kinds) {
  BytePiece piece{at, 0}, lines{at, 0};
  while (follows(text, piece, kSpace, kinds)) {
    const bool ends_line = is_line_end(text[piece.end]);
    take_one(text, piece, kinds);
    if (ends_line) lines = piece;
  }
  return lines.end > at ? lines : without_last_space(text, piece);
}

}  // namespace

BytePiece next_byte_piece(std::string_view text, size_t at, bool single_digits) {
  if (text[at] == '\'') {
    if (const size_t length = contraction(text.substr(at)); length > 0) {
      return {at + length, static_cast<int32_t>(length)};
    }
  }
  const ScalarKinds& kinds = single_digits ? ScalarKinds::digits() : ScalarKinds::numbers();
  BytePiece piece{at, 1};
  Kind kind = take(text, piece.end, kinds);
  if (piece.end == at || (kind == kNumber && single_digits)) return piece;
  if (text[at] == ' ' && piece.end < text.size()) {  // goes with what follows
    size_t next = piece.end;
    const Kind following = take(text, next, kinds);
    if (next == piece.end) return piece;  // not well-formed, as the next call will report
    if (following == kNumber && single_digits) return piece;
    if (following != kSpace) {
      piece = {next, 2};
      kind = following;
    }
  }
  take_all(text, kind, piece, kinds);
  if (kind != kSpace) return piece;
  // To the expression, the text ends before a digit that has been cut out.
  if (single_digits && follows(text, piece, kNumber, kinds)) return piece;
  return without_last_space(text, piece);
}

BytePiece next_split_piece(std::string_view text, size_t at, int most_digits) {
  if (text[at] == '\'') {
    if (const BytePiece piece = contraction_of_any_case(text, at); piece.end > at) return piece;
  }
  const ScalarKinds& kinds = ScalarKinds::numbers();
  BytePiece piece{at, 1};
  const Kind kind = take(text, piece.end, kinds);
  if (piece.end == at) return piece;
  if (kind == kNumber) {
    while (piece.scalars < most_digits && follows(text, piece, kNumber, kinds))
      take_one(text, piece, kinds);
    return piece;
  }
  if (kind == kLetter || !is_line_end(text[at])) {
    const size_t first = piece.end;
    take_all(text, kLetter, piece, kinds);
    if (kind == kLetter || piece.end > first) return piece;
  }
  if (kind == kOther || (text[at] == ' ' && follows(text, piece, kOther, kinds))) {
    take_all(text, kOther, piece, kinds);
    while (piece.end < text.size() && is_line_end(text[piece.end])) take_one(text, piece, kinds);
    return piece;
  }
  return next_space_piece(text, at, kinds);
}

}  // namespace bert::tokenizer

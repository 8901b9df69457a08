// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/decoders/decoders.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tokenizer/bytepair/byte_level.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {
namespace {

using Tokens = std::vector<std::string>;

void check_length(size_t length, size_t most) {
  if (length > most) throw std::runtime_error("the tokenizer's decoders make the text too long");
}

// most: bytes that may come of it.
void replace_matches(const Pattern& pattern, std::string_view to, size_t most, std::string& token) {
  if (token.empty()) return;  // in Hugging Face's, nothing matches there
  std::vector<Match> matches;
  pattern.find(token, matches);
  std::string out;
  for (const auto& [begin, end, is_match] : matches) {
    out += is_match ? to : std::string_view(token).substr(begin, end - begin);
    check_length(out.size(), most);
  }
  token = std::move(out);
}

// An empty `from` matches between all characters, and at both ends.
void replace_all(std::string_view from, std::string_view to, std::string& token) {
  std::string out;
  for (size_t at = 0; at <= token.size();) {
    const size_t found = from.empty() ? at : token.find(from, at);
    if (found == std::string::npos) {
      out.append(token, at);
      break;
    }
    out.append(token, at, found - at).append(to);
    at = found + from.size();
    if (!from.empty()) continue;
    size_t end = at;
    if (at < token.size()) utf8::decode(token.data(), end);
    out.append(token, at, end - at);
    at = std::max(end, at + 1);
  }
  token = std::move(out);
}

void clean_up(std::string& token) {
  constexpr std::pair<std::string_view, std::string_view> kChanges[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  for (const auto& [from, to] : kChanges) replace_all(from, to, token);
}

void fuse(Tokens& tokens) {
  std::string whole;
  for (const std::string& token : tokens) whole += token;
  tokens.assign(1, std::move(whole));
}

// Each token is cleaned up by itself, with the space before it.
void decode_word_pieces(const Decoder& decoder, Tokens& tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::string& token = tokens[i];
    if (i > 0 && token.starts_with(decoder.text)) {
      token.erase(0, decoder.text.size());
    } else if (i > 0) {
      token.insert(token.begin(), ' ');
    }
    if (decoder.cleans_up) clean_up(token);
  }
}

void decode_ctc(const Decoder& decoder, Tokens& tokens) {
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  for (std::string& token : tokens) {
    replace_all(decoder.text, "", token);
    if (!decoder.cleans_up) continue;
    clean_up(token);
    replace_all(decoder.delimiter, " ", token);
  }
  std::erase(tokens, "");
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

void decode_byte_level(Tokens& tokens) {
  std::string bytes;
  for (const std::string& token : tokens) bytes += bytes_of_token(token).value_or(token);
  tokens.assign(1, well_formed(bytes));
}

// The byte of a token such as "<0x41>". Like Rust, reads "+4" as a number of two digits.
std::optional<char> byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  const char* const last = token.data() + 5;
  const char* const first = token.data() + (token[3] == '+' ? 4 : 3);
  uint8_t byte = 0;
  const auto [end, error] = std::from_chars(first, last, byte, 16);
  if (error != std::errc() || end != last) return std::nullopt;
  return static_cast<char>(byte);
}

// Consecutive bytes that are not UTF-8 together become one U+FFFD each.
void decode_byte_fallback(Tokens& tokens) {
  Tokens out;
  std::string bytes;
  const auto end_bytes = [&] {
    if (bytes.empty()) return;
    if (utf8::first_invalid(bytes) == std::string_view::npos) {
      out.push_back(bytes);
    } else {
      out.insert(out.end(), bytes.size(), "\uFFFD");
    }
    bytes.clear();
  };
  for (std::string& token : tokens) {
    if (const auto byte = byte_of_token(token)) {
      bytes += *byte;
    } else {
      end_bytes();
      out.push_back(std::move(token));
    }
  }
  end_bytes();
  tokens = std::move(out);
}

void strip(const Decoder& decoder, std::string& token) {
  std::string_view rest = token;
  for (size_t i = 0; i < decoder.start && rest.starts_with(decoder.delimiter); ++i) {
    rest.remove_prefix(decoder.delimiter.size());
  }
  for (size_t i = 0; i < decoder.stop && rest.ends_with(decoder.delimiter); ++i) {
    rest.remove_suffix(decoder.delimiter.size());
  }
  token = std::string(rest);
}

void replace(const Decoder& decoder, size_t most, Tokens& tokens) {
  for (std::string& token : tokens) {
    replace_matches(*decoder.pattern, decoder.text, most, token);
    most -= token.size();
  }
}

void run(const Decoder& decoder, size_t most, Tokens& tokens) {
  using Kind = Decoder::Kind;
  switch (decoder.kind) {
    case Kind::byte_fallback:
      return decode_byte_fallback(tokens);
    case Kind::byte_level:
      return decode_byte_level(tokens);
    case Kind::ctc:
      return decode_ctc(decoder, tokens);
    case Kind::end_of_word:
      for (std::string& token : tokens) {
        replace_all(decoder.text, &token == &tokens.back() ? "" : " ", token);
      }
      return;
    case Kind::fuse:
      return fuse(tokens);
    case Kind::metaspace:
      for (std::string& token : tokens) {
        const bool drops = &token == &tokens.front() && decoder.drops_first;
        replace_all(decoder.delimiter, drops ? "" : " ", token);
      }
      return;
    case Kind::replace:
      return replace(decoder, most, tokens);
    case Kind::spaces:
      for (size_t i = 1; i < tokens.size(); ++i) tokens[i].insert(tokens[i].begin(), ' ');
      return;
    case Kind::strip:
      for (std::string& token : tokens) strip(decoder, token);
      return;
    case Kind::word_piece:
      return decode_word_pieces(decoder, tokens);
  }
}

}  // namespace

void decode(const Decoder& decoder, size_t most, std::vector<std::string>& tokens) {
  run(decoder, most, tokens);
  size_t length = 0;
  for (const std::string& token : tokens) length += token.size();
  check_length(length, most);
}

}  // namespace bert::tokenizer

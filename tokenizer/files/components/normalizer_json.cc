// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/files/components/components.h"

namespace bert::tokenizer {

namespace {

// Padded base64 (RFC 4648).
std::string decode_base64(const JsonField& field) {
  const std::string& text = field.string();
  const auto digit = [](char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
  };
  size_t size = text.size();
  while (size > 0 && text.size() - size < 2 && text[size - 1] == '=') --size;
  std::string out;
  out.reserve(size / 4 * 3);
  uint32_t bits = 0;
  for (size_t i = 0; i < size; ++i) {
    const int value = digit(text[i]);
    if (value < 0) field.fail_with(fmt::format("character {} is not base64", i));
    bits = bits << 6 | static_cast<uint32_t>(value);
    if (i % 4 != 0) out += static_cast<char>(bits >> (6 - i % 4 * 2) & 0xff);
  }
  if (text.size() % 4 != 0) {
    field.fail_with(
        fmt::format("found {} characters of base64, expected a multiple of 4", text.size()));
  }
  return out;
}

Normalizer read_replace(const JsonField& field) {
  Normalizer out{Normalizer::Kind::replace};
  const PatternText pattern = read_pattern(field.at("pattern"));
  out.pattern = pattern.pattern;
  out.from = pattern.text;
  out.is_expression = pattern.is_expression;
  out.to = field.at("content").string();
  return out;
}

Normalizer read_precompiled(const JsonField& field) {
  const JsonField map = field.at("precompiled_charsmap");
  Normalizer out{Normalizer::Kind::precompiled};
  try {
    out.charsmap = std::make_shared<const Charsmap>(decode_base64(map));
  } catch (const std::runtime_error& error) {
    const std::string_view message = error.what();
    if (message.find("precompiled_charsmap") != std::string_view::npos) throw;
    map.fail_with(message);
  }
  return out;
}

Normalizer read_bert(const JsonField& field) {
  Normalizer out{Normalizer::Kind::bert};
  out.bert.clean_text = field.at("clean_text").boolean();
  out.bert.handle_chinese_chars = field.at("handle_chinese_chars").boolean();
  out.bert.lowercase = field.at("lowercase").boolean();
  out.bert.strip_accents =
      field.has("strip_accents") ? field.at("strip_accents").boolean() : out.bert.lowercase;
  return out;
}

Normalizer read_strip(const JsonField& field) {
  Normalizer out{Normalizer::Kind::strip};
  out.left = field.at("strip_left").boolean();
  out.right = field.at("strip_right").boolean();
  return out;
}

Normalizer read_prepend(const JsonField& field) {
  Normalizer out{Normalizer::Kind::prepend};
  out.to = field.at("prepend").string();
  return out;
}

Normalizer read_normalizer(const JsonField& field) {
  using Kind = Normalizer::Kind;
  if (!field.is_object()) field.fail("a normalizer");
  const JsonField type = field.at("type");
  const std::string& name = type.string();
  if (name == "BertNormalizer") return read_bert(field);
  if (name == "Prepend") return read_prepend(field);
  if (name == "Precompiled") return read_precompiled(field);
  if (name == "Replace") return read_replace(field);
  if (name == "Strip") return read_strip(field);
  constexpr std::pair<const char*, Kind> kPlain[] = {{"ByteLevel", Kind::byte_level},
                                                     {"Lowercase", Kind::lowercase},
                                                     {"NFC", Kind::nfc},
                                                     {"NFD", Kind::nfd},
                                                     {"NFKC", Kind::nfkc},
                                                     {"NFKD", Kind::nfkd},
                                                     {"Nmt", Kind::nmt},
                                                     {"StripAccents", Kind::strip_accents}};
  for (const auto& [known, kind] : kPlain) {
    if (name == known) return Normalizer{kind};
  }
  type.fail(
      "\"BertNormalizer\", \"ByteLevel\", \"Lowercase\", \"NFC\", \"NFD\", \"NFKC\", \"NFKD\", "
      "\"Nmt\", \"Precompiled\", \"Prepend\", \"Replace\", \"Sequence\", \"Strip\" or "
      "\"StripAccents\"");
}

}  // namespace

void read_normalizers(const JsonField& field, std::vector<Normalizer>& out) {
  for_each_part(field, "normalizers",
                [&](const JsonField& part) { out.push_back(read_normalizer(part)); });
}

}  // namespace bert::tokenizer

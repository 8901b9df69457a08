// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/files/components/components.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

std::u32string scalars_of(std::string_view text) {
  std::u32string out;
  for (size_t at = 0; at < text.size();) out += utf8::decode(text.data(), at);
  return out;
}

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

NormalizerStep read_replace(const JsonField& field) {
  const JsonField pattern = field.at("pattern");
  NormalizerStep step{NormalizerStep::Kind::replace};
  step.to = scalars_of(field.at("content").string());
  if (pattern.has("Regex")) {
    step.kind = NormalizerStep::Kind::replace_spaces;
    if (pattern.at("Regex").string() != " {2,}") pattern.at("Regex").fail("\" {2,}\"");
    return step;
  }
  step.from = scalars_of(pattern.at("String").string());
  if (step.from.empty()) pattern.at("String").fail("a non-empty string");
  return step;
}

void read_step(const JsonField& field, std::vector<NormalizerStep>& out) {
  if (!field.is_object()) field.fail("a normalizer");
  const JsonField type = field.at("type");
  const std::string& name = type.string();
  if (name == "Replace") return out.push_back(read_replace(field));
  if (name == "Precompiled") {
    const JsonField map = field.at("precompiled_charsmap");
    NormalizerStep step{NormalizerStep::Kind::precompiled};
    try {
      step.charsmap = std::make_shared<const Charsmap>(decode_base64(map));
    } catch (const std::runtime_error& error) {
      const std::string_view message = error.what();
      if (message.find("precompiled_charsmap") != std::string_view::npos) throw;
      map.fail_with(message);
    }
    return out.push_back(std::move(step));
  }
  if (name == "Strip") {
    NormalizerStep step{NormalizerStep::Kind::strip};
    step.left = field.at("strip_left").boolean();
    step.right = field.at("strip_right").boolean();
    return out.push_back(std::move(step));
  }
  constexpr std::pair<const char*, NormalizerStep::Kind> kPlain[] = {
      {"NFC", NormalizerStep::Kind::nfc},
      {"NFD", NormalizerStep::Kind::nfd},
      {"NFKC", NormalizerStep::Kind::nfkc},
      {"NFKD", NormalizerStep::Kind::nfkd},
      {"StripAccents", NormalizerStep::Kind::strip_accents},
      {"Lowercase", NormalizerStep::Kind::lowercase}};
  for (const auto& [known, kind] : kPlain) {
    if (name == known) return out.push_back(NormalizerStep{kind});
  }
  type.fail(
      "\"Sequence\", \"Precompiled\", \"Replace\", \"NFC\", \"NFD\", \"NFKC\", \"NFKD\", "
      "\"StripAccents\", \"Lowercase\" or \"Strip\"");
}

}  // namespace

void read_normalizers(const JsonField& field, std::vector<NormalizerStep>& out, int depth) {
  constexpr int kMaxDepth = 8;  // deeper than any real file has would only use up the stack
  const bool is_sequence = field.is_object() && field.has("type") && field.at("type").is_string() &&
                           field.at("type").string() == "Sequence";
  if (!is_sequence) return read_step(field, out);
  if (depth == kMaxDepth) field.fail_with("a sequence of normalizers is nested too deeply");
  for (const JsonField& step : field.at("normalizers").elements()) {
    read_normalizers(step, out, depth + 1);
  }
}

}  // namespace bert::tokenizer

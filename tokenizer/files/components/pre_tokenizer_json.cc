// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/files/components/components.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

namespace {

Delimiter read_behavior(const JsonField& field) {
  constexpr std::pair<const char*, Delimiter> kNames[] = {
      {"Removed", Delimiter::removed},
      {"Isolated", Delimiter::isolated},
      {"MergedWithPrevious", Delimiter::merged_with_previous},
      {"MergedWithNext", Delimiter::merged_with_next},
      {"Contiguous", Delimiter::contiguous}};
  for (const auto& [name, behavior] : kNames) {
    if (field.string() == name) return behavior;
  }
  field.fail(
      "\"Removed\", \"Isolated\", \"MergedWithPrevious\", \"MergedWithNext\" or \"Contiguous\"");
}

PreTokenizer read_split(const JsonField& field) {
  PreTokenizer out{PreTokenizer::Kind::split};
  const PatternText pattern = read_pattern(field.at("pattern"));
  out.pattern = pattern.pattern;
  out.from = pattern.text;
  out.is_expression = pattern.is_expression;
  out.behavior = read_behavior(field.at("behavior"));
  out.inverted = field.at("invert").boolean();
  return out;
}

PreTokenizer read_punctuation(const JsonField& field) {
  PreTokenizer out{PreTokenizer::Kind::punctuation};
  if (field.has("behavior")) out.behavior = read_behavior(field.at("behavior"));
  return out;
}

PreTokenizer read_digits(const JsonField& field) {
  PreTokenizer out{PreTokenizer::Kind::digits};
  out.individual = field.at("individual_digits").boolean();
  return out;
}

PreTokenizer read_byte_level_cut(const JsonField& field) {
  PreTokenizer out{PreTokenizer::Kind::byte_level};
  out.prepend = field.at("add_prefix_space").boolean() ? PreTokenizer::Prepend::always
                                                       : PreTokenizer::Prepend::never;
  out.splits = !field.has("use_regex") || field.at("use_regex").boolean();
  return out;
}

PreTokenizer read_metaspace(const JsonField& field) {
  PreTokenizer out{PreTokenizer::Kind::metaspace};
  out.scalar = read_scalar(field.at("replacement"));
  if (field.has("split")) out.splits = field.at("split").boolean();
  const bool old = !field.has("add_prefix_space") || field.at("add_prefix_space").boolean();
  out.prepend = old ? PreTokenizer::Prepend::always : PreTokenizer::Prepend::never;
  if (!field.has("prepend_scheme")) return out;
  const JsonField scheme = field.at("prepend_scheme");
  const std::string& name = scheme.string();
  if (name != "always" && name != "first" && name != "never") {
    scheme.fail("\"always\", \"first\" or \"never\"");
  }
  if (!old && name != "never") {
    scheme.fail("\"never\", as add_prefix_space is false");
  }
  out.prepend = name == "always"  ? PreTokenizer::Prepend::always
                : name == "first" ? PreTokenizer::Prepend::first
                                  : PreTokenizer::Prepend::never;
  return out;
}

PreTokenizer read_delimiter(const JsonField& field) {
  PreTokenizer out{PreTokenizer::Kind::delimiter};
  out.scalar = read_scalar(field.at("delimiter"));
  return out;
}

PreTokenizer read_fixed_length(const JsonField& field) {
  PreTokenizer out{PreTokenizer::Kind::fixed_length};
  out.length = 5;
  if (field.has("length")) {
    out.length = static_cast<size_t>(field.at("length").integer(1, INT32_MAX));
  }
  return out;
}

PreTokenizer read_pre_tokenizer(const JsonField& field) {
  if (!field.is_object()) field.fail("a pre-tokenizer");
  const JsonField type = field.at("type");
  const std::string& name = type.string();
  if (name == "BertPreTokenizer") return {PreTokenizer::Kind::bert};
  if (name == "ByteLevel") return read_byte_level_cut(field);
  if (name == "CharDelimiterSplit") return read_delimiter(field);
  if (name == "Digits") return read_digits(field);
  if (name == "FixedLength") return read_fixed_length(field);
  if (name == "Metaspace") return read_metaspace(field);
  if (name == "Punctuation") return read_punctuation(field);
  if (name == "Split") return read_split(field);
  if (name == "Whitespace") return {PreTokenizer::Kind::whitespace};
  if (name == "WhitespaceSplit") return {PreTokenizer::Kind::whitespace_split};
  type.fail(
      "\"BertPreTokenizer\", \"ByteLevel\", \"CharDelimiterSplit\", \"Digits\", \"FixedLength\", "
      "\"Metaspace\", \"Punctuation\", \"Sequence\", \"Split\", \"Whitespace\" or "
      "\"WhitespaceSplit\"");
}

}  // namespace

char32_t read_scalar(const JsonField& field) {
  const std::string& text = field.string();
  if (text.empty() || utf8::count_scalars(text) != 1) field.fail("a string of one character");
  size_t at = 0;
  return utf8::decode(text.data(), at);
}

PatternText read_pattern(const JsonField& field) {
  PatternText out;
  out.is_expression = field.has("Regex");
  const JsonField text = field.at(out.is_expression ? "Regex" : "String");
  out.text = text.string();
  if (!out.is_expression) return out.pattern = make_literal_pattern(out.text), out;
  try {
    out.pattern = make_expression_pattern(out.text);
  } catch (const std::runtime_error& error) {
    text.fail_with(error.what());
  }
  return out;
}

void read_pre_tokenizers(const JsonField& field, std::vector<PreTokenizer>& out) {
  for_each_part(field, "pretokenizers",
                [&](const JsonField& part) { out.push_back(read_pre_tokenizer(part)); });
}

}  // namespace bert::tokenizer

// SPDX-License-Identifier: Apache-2.0
//
// Any combination of a tokenizer.json's components on any text. The first bytes pick normalizers,
// pre-tokenizers and a model; the next ones, up to a NUL, are Split's expression; the rest is text.
// It must be encoded, whole and truncated, or give an error.
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/tokenizer/test_directory.h"
#include "tokenizer/unicode/utf8.h"

namespace {

using bert::Encoding;
using nlohmann::json;
using namespace bert::tokenizer;  // NOLINT(google-build-using-namespace): a program of one file

const char* const kNormalizers[] = {
    R"({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
        "strip_accents": null, "lowercase": true})",
    R"({"type": "NFD"})",
    R"({"type": "NFKC"})",
    R"({"type": "Nmt"})",
    R"({"type": "StripAccents"})",
    R"({"type": "Lowercase"})",
    R"({"type": "ByteLevel"})",
    R"({"type": "Prepend", "prepend": "\u2581"})",
    R"({"type": "Prepend", "prepend": ""})",
    R"({"type": "Strip", "strip_left": true, "strip_right": true})",
    R"({"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"})",
    R"({"type": "Replace", "pattern": {"Regex": "^|b"}, "content": "ab"})"};
const char* const kPreTokenizers[] = {
    R"({"type": "BertPreTokenizer"})",
    R"({"type": "Whitespace"})",
    R"({"type": "WhitespaceSplit"})",
    R"({"type": "Punctuation", "behavior": "Contiguous"})",
    R"({"type": "Digits", "individual_digits": false})",
    R"({"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first"})",
    R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true})",
    R"({"type": "FixedLength", "length": 3})"};
const char* const kBehaviors[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                  "Contiguous"};

json model_of(unsigned choice) {
  json words = {{"[UNK]", 0},  {"a", 1},      {"b", 2},      {"ab", 3}, {"##b", 4},
                {"\u2581", 5}, {"\u0120", 6}, {"\u00e9", 7}, {"1", 8},  {"\u2581a", 9}};
  switch (choice % 4) {
    case 0:
      return {{"type", "WordPiece"},
              {"unk_token", "[UNK]"},
              {"continuing_subword_prefix", "##"},
              {"max_input_chars_per_word", 20},
              {"vocab", words}};
    case 1:
      return {{"type", "WordLevel"}, {"unk_token", "[UNK]"}, {"vocab", words}};
    case 2: {
      json vocab = json::array();
      for (const auto& [word, id] : words.items()) vocab.push_back({word, -id.get<double>()});
      return {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocab}};
    }
    default:
      return {{"type", "BPE"},
              {"unk_token", "[UNK]"},
              {"fuse_unk", true},
              {"vocab", words},
              {"merges", {{"a", "b"}, {"\u2581", "a"}}}};
  }
}

json definition_of(const std::string& choices, const std::string& expression) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(choices[i]); };
  json normalizers = json::array(), pre_tokenizers = json::array();
  for (size_t i = 0; i < 3; ++i) {
    const unsigned n = at(i) % (2 * std::size(kNormalizers));
    if (n < std::size(kNormalizers)) normalizers.push_back(json::parse(kNormalizers[n]));
    const unsigned p = at(3 + i) % (2 * std::size(kPreTokenizers));
    if (p < std::size(kPreTokenizers)) pre_tokenizers.push_back(json::parse(kPreTokenizers[p]));
  }
  if (!expression.empty()) {
    pre_tokenizers.push_back({{"type", "Split"},
                              {"pattern", {{"Regex", expression}}},
                              {"behavior", kBehaviors[at(6) % std::size(kBehaviors)]},
                              {"invert", at(6) >= 128}});
  }
  json out = small_tokenizer({});
  out["normalizer"] = {{"type", "Sequence"}, {"normalizers", normalizers}};
  out["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", pre_tokenizers}};
  out["post_processor"] = nullptr;
  out["model"] = model_of(at(7));
  out["added_tokens"] = {added_token("<x>", 10), added_token("ab ", 11)};
  out["added_tokens"][1]["normalized"] = out["added_tokens"][1]["rstrip"] = true;
  return out;
}

void use(const TextEncoder& tokenizer, const std::string& text) {
  const Encoding whole = tokenizer.encode(text, std::nullopt, 0);
  const auto scalars = static_cast<int32_t>(utf8::count_scalars(text));
  for (const bert::Offset& offset : whole.offsets) {
    if (offset.begin < 0 || offset.end < offset.begin || offset.end > scalars) std::abort();
  }
  const Encoding cut = tokenizer.encode(text, text, 5);
  if (cut.ids.size() > 5) std::abort();
  if (tokenizer.strings(text, std::nullopt, 0).size() != whole.ids.size()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kChoices = 8;
  if (size < kChoices) return 0;
  const std::string input(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(input.find('\0', kChoices), size);
  const std::string expression = input.substr(kChoices, end - kChoices);
  const std::string text = end < size ? input.substr(end + 1) : "";
  if (expression.size() > 40 || utf8::first_invalid(expression) != std::string::npos) return 0;
  static const TestDirectory directory;
  try {
    directory.write("tokenizer.json", definition_of(input.substr(0, kChoices), expression).dump());
    use(directory.load(), text);
  } catch (const std::runtime_error& error) {
    if (std::string(error.what()).empty()) std::abort();
  }
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/tokenizer/test_directory.h"
#include "tokenizer/bytepair/byte_level.h"
#include "tokenizer/files/definition.h"
#include "tokenizer/unicode/utf8.h"

namespace bert::tokenizer {

inline TextEncoder load_definition(const nlohmann::json& definition) {
  const TestDirectory directory;
  directory.write("tokenizer.json", definition.dump());
  return directory.load();
}

// Whether it is run component by component, and not by a fast pipeline.
inline bool runs_by_parts(const nlohmann::json& definition) {
  const TestDirectory directory;
  directory.write("tokenizer.json", definition.dump());
  return read_tokenizer_json(directory.path()).by_parts;
}

inline std::string error_of_text(const nlohmann::json& definition, const std::string& text) {
  try {
    load_definition(definition).encode(text, std::nullopt, 0);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

inline std::string scalar_of(char32_t c) {
  char bytes[4];
  return {bytes, utf8::encode(c, bytes)};
}

inline nlohmann::json byte_level_tokenizer() {
  nlohmann::json definition = small_tokenizer({});
  nlohmann::json& model = definition["model"] = {{"type", "BPE"},
                                                 {"vocab", definition["model"]["vocab"]},
                                                 {"merges", nlohmann::json::array()}};
  for (int byte = 0; byte < 256; ++byte) {
    const std::string c = scalar_of(byte_characters()[byte]);
    model["vocab"][c] = model["vocab"].size();
  }
  for (const auto& [left, right] : std::vector<std::pair<std::string, std::string>>{
           {"t", "h"}, {"th", "e"}, {"a", "b"}, {"ab", "c"}, {"\u0120", "the"}, {"1", "1"}}) {
    model["vocab"].emplace(left + right, model["vocab"].size());
    model["merges"].push_back({left, right});
  }
  return definition;
}

// A byte-level tokenizer.json that cuts a text, then takes bytes.
inline nlohmann::json cut_bytes(const nlohmann::json& cut, bool has_expression) {
  nlohmann::json definition = byte_level_tokenizer();
  definition["normalizer"] = nullptr;
  nlohmann::json& model = definition["model"];
  for (int left = 0; left < 256; ++left) {  // where a piece begins shows in its tokens
    for (int right = 0; right < 256; ++right) {
      const std::string a = scalar_of(byte_characters()[left]),
                        b = scalar_of(byte_characters()[right]);
      if (!model["vocab"].contains(a + b)) model["vocab"].emplace(a + b, model["vocab"].size());
      model["merges"].push_back({a, b});
    }
  }
  const nlohmann::json bytes = {{"type", "ByteLevel"},
                                {"add_prefix_space", false},
                                {"trim_offsets", true},
                                {"use_regex", has_expression}};
  definition["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {cut, bytes}}};
  return definition;
}

}  // namespace bert::tokenizer

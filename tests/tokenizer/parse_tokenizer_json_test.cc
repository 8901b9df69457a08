// SPDX-License-Identifier: Apache-2.0
//
// The scanner of a tokenizer.json's long lists against the general parser.
#include <string>

#include <gtest/gtest.h>

#include "tests/tokenizer/test_directory.h"
#include "tokenizer/files/files.h"

namespace bert::tokenizer {
namespace {

using nlohmann::json;

// The document with the scanned lists in their places, and merges as pairs.
json whole(const std::string& text, bool& scanned) {
  const TestDirectory directory;
  directory.write("tokenizer.json", text);
  ScannedLists lists;
  json document = parse_tokenizer_json(directory.path() + "/tokenizer.json", lists);
  scanned = !lists.merges.empty();
  if (!document.contains("model")) return document;
  json& model = document["model"];
  for (const auto& [token, id] : lists.vocabulary) model["vocab"][token] = id;
  if (model.contains("merges") && model["merges"].is_array()) {
    for (json& merge : model["merges"]) {
      const size_t space =
          merge.is_string() ? merge.get<std::string>().find(' ') : std::string::npos;
      if (space == std::string::npos) continue;
      const auto line = merge.get<std::string>();
      merge = {line.substr(0, space), line.substr(space + 1)};
    }
    for (const auto& [left, right] : lists.merges) model["merges"].push_back({left, right});
  }
  return document;
}

struct Case {
  const char* model;
  bool scanned;      // the merges are; the rest is left to the general parser
  const char* same;  // a usual spelling of it, "" for the model itself
};

TEST(ParseTokenizerJson, GivesWhatTheGeneralParserGives) {
  const Case cases[] = {
      {R"({"vocab": {"a": 0, "b": 1}, "merges": [["a", "b"], ["\u0061", "\"b "]]})", true, ""},
      {R"({"merges" : [["a","b"]] , "vocab" : {"a":0}})", true, ""},
      {R"({"vocab": {"merges": 0, "vocab": 1, "\"merges\": []": 2}, "merges": [["a", "b"]]})", true,
       ""},
      {R"({"vocab": {"a": 0}, "merges": ["a b", "c d"]})", true,
       R"({"vocab": {"a": 0}, "merges": [["a", "b"], ["c", "d"]]})"},
      {R"({"vocab": {"a": 0}, "merges": ["#version: 0.2", "a b"]})", false,
       R"({"vocab": {"a": 0}, "merges": [["#version:", "0.2"], ["a", "b"]]})"},
      {R"({"vocab": {"a": 0}, "merges": []})", false, ""},
      {R"({"vocab": {"a": 0}, "merges": [["a", "b", "c"]]})", false, ""},
      {R"({"vocab": {"a": 0}, "merges": [["a", "b"], 7]})", false, ""},
      {R"({"vocab": {"a": 0}, "merges": [["a", "b"],]})", false, nullptr},
      {R"({"vocab": {"a": 0}, "merges": null})", false, ""},
      {R"({"vocab": {"a": 0.5}, "merges": [["a", "b"]]})", false, ""},
      {R"({"vocab": {"a": 0}, "merges": ["a b c"]})", false,
       R"({"vocab": {"a": 0}, "merges": [["a", "b c"]]})"},
      {"{\"vocab\"\t:\r\n{\"a\"\t: 0\r}, \"merges\": [\r\n\t\"a b\"]}", true,
       R"({"vocab": {"a": 0}, "merges": [["a", "b"]]})"},
      {"{\"vocab\": {\"a\tb\": 0}, \"merges\": []}", false, nullptr},
      {"{\"vocab\": {\"a\xff\": 0}, \"merges\": []}", false, nullptr},
      {R"({"vocab": {"a": 01}, "merges": []})", false, nullptr},
      {R"({"vocab": {"a": 0}, "more": {"merges": [["a", "b"]]}, "merges": [["c", "d"]]})", false,
       ""}};
  for (const auto& [model, scanned, same] : cases) {
    const std::string text = std::string(R"({"version": "1.0", "model": )") + model + "}";
    bool is_scanned = false;
    if (same == nullptr) {
      EXPECT_THROW(whole(text, is_scanned), UnreadableFile) << model;
      continue;
    }
    json want = json::parse(text);
    if (*same != '\0') want["model"] = json::parse(same);
    EXPECT_EQ(whole(text, is_scanned), want) << model;
    EXPECT_EQ(is_scanned, scanned) << model;
  }
  bool is_scanned = false;  // of another part
  const std::string text =
      R"({"other": {"vocab": {"a": 0}}, "model": {"vocab": {"b": 1}, "merges": []}})";
  EXPECT_EQ(whole(text, is_scanned), json::parse(text));
  const std::string name = R"({"other": ["vocab", {"a": 0}], "model": {"vocab": null}})";
  EXPECT_EQ(whole(name, is_scanned), json::parse(name));
}

TEST(ParseJson, SaysTheLineAndTheColumn) {
  const TestDirectory directory;
  directory.write("tokenizer.json", small_tokenizer({"a"}).dump());
  directory.write("tokenizer_config.json", "{\n  \"a\": 1,\n  \"\u00e9\" 2\n}");
  EXPECT_EQ(directory.error(), "tokenizer_config.json: not valid JSON at line 3, column 7");
  directory.write("tokenizer_config.json", "{\"a\" 1}");
  EXPECT_EQ(directory.error(), "tokenizer_config.json: not valid JSON at byte 5");
}

}  // namespace
}  // namespace bert::tokenizer

// SPDX-License-Identifier: Apache-2.0
//
// Definitions that differ a little from those that the fast pipelines run: they must run component
// by component.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/tokenizer/parts/definitions.h"

namespace bert::tokenizer {
namespace {

using nlohmann::json;

void expect_by_parts(const json& definition) {
  EXPECT_TRUE(runs_by_parts(definition)) << definition["normalizer"] << definition["pre_tokenizer"];
  const TextEncoder any = load_definition(definition), slow = load_definition(by_parts(definition));
  for (const char* text : {"a ab  B1b 22 _x_b", "bab 12ABc\u2581\u2581a!  22b", " a\nb  'Sx"}) {
    const Encoding a = any.encode(text, std::nullopt, 0), b = slow.encode(text, std::nullopt, 0);
    EXPECT_EQ(a.ids, b.ids) << text << definition["normalizer"] << definition["pre_tokenizer"];
    EXPECT_EQ(offsets_of(a), offsets_of(b)) << text << definition["pre_tokenizer"];
  }
}

json in_sequence(const char* parts, const json& list) {
  return {{"type", "Sequence"}, {parts, list}};
}

const json kDigits = {{"type", "Digits"}, {"individual_digits", true}};

TEST(PickPipeline, NotThatOfWordPiece) {
  const json plain = small_tokenizer({"a", "b", "1", "2", "##1", "##2", "##b", "x"});
  json definition = plain;
  const json replace = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "b"}};
  definition["normalizer"] = in_sequence("normalizers", {plain["normalizer"], replace});
  expect_by_parts(definition);
  definition = plain;
  definition["pre_tokenizer"] = in_sequence("pretokenizers", {plain["pre_tokenizer"], kDigits});
  expect_by_parts(definition);
}

TEST(PickPipeline, NotThatOfUnigram) {
  json definition = small_tokenizer({});
  json& vocab = (definition["model"] = {{"type", "Unigram"}, {"unk_id", 1}})["vocab"];
  for (const char* piece : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "_", "\u2581", "_a", "b",
                            "\u2581a", "12", "1", "2", "<0x78>", "<0x21>"}) {
    vocab.push_back({piece, -1.0});
  }
  definition["normalizer"] = nullptr;
  json metaspace = {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "always"}};
  definition["pre_tokenizer"] = metaspace;
  expect_by_parts(definition);
  metaspace["replacement"] = "\u2581";
  definition["pre_tokenizer"] = in_sequence("pretokenizers", {metaspace, kDigits});
  expect_by_parts(definition);
  definition["pre_tokenizer"] = metaspace;
  definition["model"]["byte_fallback"] = true;
  expect_by_parts(definition);
  EXPECT_EQ(tokens_of(load_definition(definition), "x!"), "\u2581 <0x78> <0x21>");
  EXPECT_EQ(tokens_of(load_definition(definition), "x\u00e9"),
            "\u2581 [UNK]");     // none for the second
  vocab.push_back({"x", -1.0});  // a piece even if it is the unknown one
  definition["model"]["unk_id"] = vocab.size() - 1;
  EXPECT_EQ(tokens_of(load_definition(definition), "xb"), "\u2581 x b");
  definition["model"].erase("unk_id");
  EXPECT_EQ(tokens_of(load_definition(definition), "ab"), "\u2581a b");
  EXPECT_EQ(error_of_text(definition, "c"),
            "'c' is not in the vocabulary, and model.unk_id is missing");
}

TEST(PickPipeline, NotThatOfByteLevel) {
  json split = {{"type", "Split"},
                {"pattern", {{"Regex", kOneDigitExpression}}},
                {"behavior", "Isolated"},
                {"invert", true}};
  expect_by_parts(cut_bytes(split, false));
  split["invert"] = false;
  expect_by_parts(cut_bytes(split, true));
  split["behavior"] = "MergedWithNext";
  expect_by_parts(cut_bytes(split, false));
  split["behavior"] = "Isolated";
  split["pattern"] = {{"String", kOneDigitExpression}};
  expect_by_parts(cut_bytes(split, false));
  expect_by_parts(cut_bytes({{"type", "Punctuation"}}, false));
  expect_by_parts(cut_bytes({{"type", "Digits"}, {"individual_digits", false}}, true));
  json definition = cut_bytes(kDigits, false);
  expect_by_parts(definition);
  json& bytes = definition["pre_tokenizer"]["pretokenizers"][1];
  bytes["add_prefix_space"] = bytes["use_regex"] = true;
  expect_by_parts(definition);
  bytes["add_prefix_space"] = false;
  definition["pre_tokenizer"]["pretokenizers"].push_back(bytes);
  expect_by_parts(definition);
}

// A whole text is a word if its spaces are replaced, as in Gemma's, and nothing else is done.
TEST(PickPipeline, NotThatOfCharacters) {
  json definition = small_tokenizer({"a", "b", "B", "x", "1", "2", "_", "\u2581", " "});
  json& model = definition["model"] = {{"type", "BPE"},
                                       {"vocab", definition["model"]["vocab"]},
                                       {"byte_fallback", true},
                                       {"merges", json::array()}};
  for (int byte = 0; byte < 256; ++byte) {
    model["vocab"].emplace(fmt::format("<0x{:02X}>", byte), model["vocab"].size());
  }
  for (const auto& [left, right] : std::vector<std::pair<std::string, std::string>>{
           {"b", "a"}, {"\u2581", "a"}, {"\u2581", "\u2581"}, {"x", "_"}, {"1", "b"}, {" ", "a"}}) {
    model["vocab"].emplace(left + right, model["vocab"].size());
    model["merges"].push_back({left, right});
  }
  const json mark = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
  definition["normalizer"] = in_sequence("normalizers", {mark, {{"type", "Lowercase"}}});
  definition["pre_tokenizer"] = nullptr;
  expect_by_parts(definition);
  for (const char* content : {"\u2581\u2581", "", " "}) {
    definition["normalizer"] = mark;
    definition["normalizer"]["content"] = content;
    expect_by_parts(definition);
  }
  for (const json& pattern : {json{{"Regex", " +"}}, json{{"String", "b"}}}) {
    definition["normalizer"] = mark;
    definition["normalizer"]["pattern"] = pattern;
    expect_by_parts(definition);
  }
  definition["normalizer"] = mark;
  for (const char* text : {" ", "b"}) {
    definition["pre_tokenizer"] = {{"type", "Split"},
                                   {"pattern", {{"String", text}}},
                                   {"behavior", "Removed"},
                                   {"invert", *text == ' '}};
    expect_by_parts(definition);
  }
}

}  // namespace
}  // namespace bert::tokenizer

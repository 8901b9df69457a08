// SPDX-License-Identifier: Apache-2.0
//
// Arbitrary text through the fast ways of BPE, of bytes and of characters, beside the pipeline for
// any tokenizer.json, on definitions whose merges are learned from words of several scripts. The
// first byte picks the definition, the second the length to truncate to and where a pair is cut.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "tests/tokenizer/test_directory.h"
#include "tokenizer/bytepair/byte_level.h"
#include "tokenizer/unicode/utf8.h"

namespace {

using bert::Encoding;
using nlohmann::json;
using namespace bert::tokenizer;  // NOLINT(google-build-using-namespace): a program of one file

using Word = std::vector<std::string>;  // by its tokens

// After a mark that stands for the space before each.
const char* const kWords[] = {"the",
                              "other",
                              "there",
                              "understanding",
                              "don't",
                              "1234567",
                              "tion",
                              "Straße",
                              "größere",
                              "привет",
                              "предложение",
                              "понимание",
                              "中文字符",
                              "日本語の文",
                              "こんにちは",
                              "한국어",
                              "नमस्ते",
                              "👩‍👩‍👧",
                              "....----",
                              "aaaaaaaaaaaaaaaa",
                              "ababababbabaabab",
                              "\t\n\n\r\n"};

void require(bool holds, const std::string& what, const std::string& text) {
  if (holds) return;
  std::cerr << "violated: " << what << ": " << json(text).dump(-1, ' ', true) << '\n';
  std::abort();
}

std::string scalar_of(char32_t c) {
  char bytes[4];
  return {bytes, utf8::encode(c, bytes)};
}

// A word as byte-level BPE or Gemma's begin with it.
Word split_word(std::string_view word, bool by_bytes) {
  Word out = {by_bytes ? "\u0120" : "\u2581"};
  for (size_t at = 0, end = 0; at < word.size(); at = end) {
    utf8::decode(word.data(), end);
    if (!by_bytes) out.emplace_back(word.substr(at, end - at));
    for (; by_bytes && at < end; ++at) {
      out.push_back(scalar_of(byte_characters()[static_cast<uint8_t>(word[at])]));
    }
  }
  return out;
}

// Joins neighbours of random words, as training joins frequent ones: `count` merges at most.
json make_model(bool by_bytes, int count) {
  json model = {{"type", "BPE"}, {"merges", json::array()}};
  json& vocab =
      model["vocab"] = {{"[PAD]", 0}, {"[UNK]", 1}, {"[CLS]", 2}, {"[SEP]", 3}, {"<x>", 4}};
  const auto add = [&](const std::string& token) { vocab.emplace(token, vocab.size()); };
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    add(by_bytes ? scalar_of(byte_characters()[byte])
                 : std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">");
  }
  std::vector<Word> words;
  for (const char* word : kWords) words.push_back(split_word(word, by_bytes));
  for (const Word& word : words) std::ranges::for_each(word, add);
  std::mt19937 random(7);
  for (int i = 0; i < count; ++i) {
    const Word& chosen = words[random() % words.size()];
    if (chosen.size() < 2) continue;
    const size_t at = random() % (chosen.size() - 1);
    const std::string left = chosen[at], right = chosen[at + 1];
    model["merges"].push_back({left, right});
    add(left + right);
    for (Word& word : words) {
      for (size_t k = 0; k + 1 < word.size(); ++k) {
        if (word[k] != left || word[k + 1] != right) continue;
        word[k] += right;
        word.erase(word.begin() + static_cast<ptrdiff_t>(k) + 1);
      }
    }
  }
  return model;
}

json byte_level(bool prefix, bool uses_expression) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", prefix},
          {"trim_offsets", true},
          {"use_regex", uses_expression}};
}

json split_at(std::string_view expression) {
  return {{"type", "Split"},
          {"pattern", {{"Regex", expression}}},
          {"behavior", "Isolated"},
          {"invert", false}};
}

constexpr int kKinds = 6;

json definition_of(int kind) {
  json out = small_tokenizer({});
  out["normalizer"] = nullptr;
  out["added_tokens"] = {added_token("[CLS]", 2), added_token("<x>", 4)};
  out["model"] = make_model(kind < 5, kind == 0 ? 60 : 400);
  const json digits = {{"type", "Digits"}, {"individual_digits", true}};
  switch (kind) {
    case 0:
    case 1:
      out["pre_tokenizer"] = byte_level(kind == 1, true);
      break;
    case 2:
      out["pre_tokenizer"] = {
          {"type", "Sequence"},
          {"pretokenizers", {split_at(kThreeDigitsExpression), byte_level(false, false)}}};
      out["model"]["ignore_merges"] = true;
      break;
    case 3:
      out["pre_tokenizer"] = {
          {"type", "Sequence"},
          {"pretokenizers", {split_at(kOneDigitExpression), byte_level(false, false)}}};
      out["normalizer"] = {{"type", "NFC"}};
      break;
    case 4:
      out["pre_tokenizer"] = {{"type", "Sequence"},
                              {"pretokenizers", {digits, byte_level(false, true)}}};
      break;
    default:
      out["normalizer"] = {
          {"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
      out["pre_tokenizer"] = nullptr;
      out["model"].update({{"unk_token", "[UNK]"}, {"fuse_unk", true}, {"byte_fallback", true}});
  }
  return out;
}

struct Subject {
  TextEncoder fast, slow;
};

const Subject& subject_of(int kind) {
  static std::map<int, Subject> subjects;
  const auto found = subjects.find(kind);
  if (found != subjects.end()) return found->second;
  const auto load = [](const json& definition) {
    const TestDirectory directory;
    directory.write("tokenizer.json", definition.dump());
    return directory.load();
  };
  const json definition = definition_of(kind);
  json slow = by_parts(definition);
  slow["model"]["vocab"]["another spelling"] = 0;  // which CharacterTokens does not suit
  return subjects.emplace(kind, Subject{load(definition), load(slow)}).first->second;
}

void check(const Subject& subject, const std::string& text, std::optional<std::string> second,
           int limit) {
  const Encoding slow = subject.slow.encode(text, second, limit);
  for (const char* time : {"at first", "again"}) {  // when words are remembered
    const Encoding fast = subject.fast.encode(text, second, limit);
    const std::string all = second ? text + '|' + *second : text;
    require(fast.ids == slow.ids, std::string("the same ids ") + time, all);
    require(offsets_of(fast) == offsets_of(slow), std::string("the same offsets ") + time, all);
    require(fast.type_ids == slow.type_ids && fast.truncated == slow.truncated, "the same", all);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Subject& subject = subject_of(data[0] % kKinds);
  const int limit = data[1] % 4 == 0 ? 0 : 3 + data[1];
  const size_t cut = std::min<size_t>(data[1] / 2, text.size());
  const std::string first = data[1] % 2 == 0 ? text : text.substr(0, cut);
  const std::optional<std::string> second =
      data[1] % 2 == 0 ? std::nullopt : std::optional(text.substr(cut));
  const bool valid = utf8::first_invalid(first) == std::string::npos &&
                     (!second || utf8::first_invalid(*second) == std::string::npos);
  try {
    check(subject, first, second, limit);
    require(valid, "invalid UTF-8 is an error", "");
  } catch (const std::runtime_error& error) {
    require(!valid, error.what(), valid ? text : "");
  }
  return 0;
}

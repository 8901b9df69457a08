// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer against its slow twin, on random text and random vocabularies.
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/tokenizer/slow_tokenizer.h"
#include "tests/tokenizer/test_directory.h"
#include "tokenizer/unigram/double_array.h"

namespace bert::tokenizer {
namespace {

using Random = std::mt19937;

// The scalars of texts and vocabularies: few enough for texts to consist of tokens, with some of
// every kind that is treated specially.
const std::u32string kScalars =
    U"abcABZ09.,[]# \t\n\r\u0001\u007f\u0085\u00a0\u00ad\u00e9\u00c9\u0130\u0131\u00df\u03a3"
    U"\u0301\u0323\u0334\u0345\u0344\u0f73\u0f71\u0f72\u302e\u0b4d\u0983\u09cb\u200b\u200d\u2028"
    U"\u3000\u3002\u4e2d\u6587\u9fff\uf900\ufa30\u3042\u30ac\uac00\ud55c\u1112\u1161\u11ab\ue000"
    U"\ufffd\ufeff\U0001f600\U0001d15e\U0001d165\U0001d16d\U00010400\U0002f800\U00020000\U000e0001"
    U"\U0010ffff";

std::string random_text(Random& random, size_t scalars) {
  std::string text;
  for (size_t i = 0; i < scalars; ++i) {
    char bytes[4];
    const bool known = random() % 16 != 0;
    auto c = static_cast<char32_t>(random() % 0x110000);
    if (known) c = kScalars[random() % kScalars.size()];
    if (c >= 0xd800 && c < 0xe000) c = U'x';
    text.append(bytes, utf8::encode(c, bytes));
  }
  return text;
}

std::vector<std::string> random_vocabulary(Random& random, const std::string& prefix) {
  std::vector<std::string> tokens = {"[UNK]", prefix + "x"};
  for (int i = 0; i < 400; ++i) {
    std::string token = random_text(random, 1 + random() % (i < 200 ? 1 : 8));
    if (random() % 2 == 0) token = prefix + token;
    if (std::find(tokens.begin(), tokens.end(), token) == tokens.end()) tokens.push_back(token);
  }
  return tokens;
}

TextEncoder make(const NormalizerOptions& options, const std::vector<std::string>& tokens,
                 const std::string& prefix, size_t max_chars) {
  nlohmann::json definition = small_tokenizer({});
  definition["added_tokens"] = nlohmann::json::array();
  definition["post_processor"] = nullptr;
  definition["normalizer"] = {{"type", "BertNormalizer"},
                              {"clean_text", options.clean_text},
                              {"handle_chinese_chars", options.handle_chinese_chars},
                              {"strip_accents", options.strip_accents},
                              {"lowercase", options.lowercase}};
  definition["model"]["continuing_subword_prefix"] = prefix;
  definition["model"]["max_input_chars_per_word"] = max_chars;
  definition["model"]["vocab"] = nlohmann::json::object();
  for (size_t id = 0; id < tokens.size(); ++id) definition["model"]["vocab"][tokens[id]] = id;
  const TestDirectory directory;
  directory.write("tokenizer.json", definition.dump(-1, ' ', max_chars % 2 == 0));
  return directory.load();
}

void compare(const TextEncoder& tokenizer, const SlowTokenizer& slow, const std::string& text) {
  const Encoding got = tokenizer.encode(text, std::nullopt, 0);
  const auto [ids, offsets] = slow.encode(text);
  ASSERT_EQ(got.ids, ids) << testing::PrintToString(text);
  ASSERT_EQ(offsets_of(got), offsets_of({{}, {}, offsets})) << testing::PrintToString(text);
}

TEST(RandomText, IsEncodedAsByTheSlowTwin) {
  Random random(7);
  for (int i = 0; i < 16 * 4; ++i) {
    const NormalizerOptions options = {(i & 1) != 0, (i & 2) != 0, (i & 4) != 0, (i & 8) != 0};
    const std::string prefix = std::vector<std::string>{"##", "", "\u00e9", "ab"}[random() % 4];
    const size_t max_chars = std::vector<size_t>{100, 3, 16, 0}[random() % 4];
    const std::vector<std::string> tokens = random_vocabulary(random, prefix);
    const TextEncoder tokenizer = make(options, tokens, prefix, max_chars);
    const SlowTokenizer slow(options, tokens, "[UNK]", prefix, max_chars);
    for (int text = 0; text < 400; ++text) {
      compare(tokenizer, slow, random_text(random, random() % (text % 20 == 0 ? 400 : 24)));
    }
    // Long enough to be normalised in chunks.
    std::string spaced;
    for (int k = 0; k < 3000; ++k) spaced += random_text(random, random() % 12) + " ";
    compare(tokenizer, slow, spaced);
  }
}

TEST(RandomText, EveryScalarBesideMarks) {
  const std::vector<std::string> tokens = {"[UNK]", "a", "##\u302e", "\u0b4d", "##a"};
  for (const bool on : {false, true}) {
    const NormalizerOptions options = {on, true, true, on};
    const TextEncoder tokenizer = make(options, tokens, "##", 100);
    const SlowTokenizer slow(options, tokens, "[UNK]", "##", 100);
    std::string text;
    [[maybe_unused]] int compared = 0;
    for (char32_t c = 0; c < 0x110000; ++c) {
      if (c >= 0xd800 && c < 0xe000) continue;
      char bytes[4];
      const std::string scalar(bytes, utf8::encode(c, bytes));
      text += "\u302e" + scalar;
      text += "\u0334a" + scalar;
      text += "\u0345 ";
      if (text.size() < 10000 && c != 0x10ffff) continue;
      if (!SANITIZED || ++compared % 8 == 0) compare(tokenizer, slow, text);
      text.clear();
    }
  }
}

// Alike in their first 8 or 16 bytes, as sorting compares 8 at a time; or they end there in zeros.
TEST(DoubleArrayTest, FindsKeysThatBeginAlike) {
  constexpr char kBytes[] = {'a', '\0', '\xff', 'b'};
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    const auto random_key = [&] {
      std::string key = std::string("[unused1[unused1").substr(0, random() % 17);
      for (size_t i = random() % 5; i > 0; --i) key += kBytes[random() % sizeof kBytes];
      return key;
    };
    std::vector<std::string> keys(1 + random() % 300);
    for (std::string& key : keys) key = random_key();
    std::vector<DoubleArray::Entry> entries;
    std::map<std::string, int32_t> values;
    for (size_t i = 0; i < keys.size(); ++i) {
      entries.push_back({keys[i], static_cast<int32_t>(i)});
      if (!keys[i].empty()) values[keys[i]] = static_cast<int32_t>(i);
    }
    const DoubleArray array(entries, "");
    EXPECT_EQ(array.count(), std::ssize(values));
    for (const auto& [key, value] : values) EXPECT_EQ(array.find(key), value) << round;
    for (int i = 0; i < 100; ++i) {
      const std::string key = random_key();
      const auto at = values.find(key);
      EXPECT_EQ(array.find(key), at == values.end() ? DoubleArray::kNone : at->second) << round;
    }
  }
}

}  // namespace
}  // namespace bert::tokenizer

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tokenizer/unicode/unicode_tables.h"
#include "tokenizer/unicode/utf8.h"
#include "tokenizer/unigram/text_normalizer.h"

namespace bert::tokenizer {
namespace {

constexpr char32_t kEnd = 0x110000;

bool is_scalar(char32_t c) { return c < 0xd800 || c >= 0xe000; }

std::string spell(std::u32string_view scalars) {
  std::string out;
  for (const char32_t c : scalars) {
    char bytes[4];
    out.append(bytes, utf8::encode(c, bytes));
  }
  return out;
}

TEST(TextForms, IsComposedOfWhatPeopleWrite) {
  for (const char* text :
       {"", "plain", "caf\u00e9", "ti\u1ebfng Vi\u1ec7t", "\u0439\u0451", "\u4e2d\u6587\u3002",
        "\ud55c\uad6d\uc5b4", "\u304c\u30d1", "\u2019s", "\U0001f600", "\u0a15\u0a16"}) {
    EXPECT_TRUE(is_composed(text)) << text;
  }
  // Marks, a trailing jamo, a singleton, an exclusion, and what is not UTF-8.
  for (const char* text : {"e\u0301", "\uac00\u11a8", "\u212b", "\u0958", "\u4e2d\xff"}) {
    EXPECT_FALSE(is_composed(text)) << text;
  }
}

TEST(TextForms, StepsChangeWhatTheyName) {
  using Kind = NormalizerStep::Kind;
  const TextNormalizer replaces({{.kind = Kind::replace, .from = U"ab", .to = U"x"}});
  EXPECT_EQ(replaces.normalized("abcaba"), "xcxa");
  EXPECT_EQ(TextNormalizer({{.kind = Kind::strip, .right = true}}).normalized(" a "), " a");
  EXPECT_EQ(TextNormalizer({{.kind = Kind::strip, .left = true}}).normalized(" a "), "a ");
}

TEST(TextForms, WhatIsComposedStaysAsItIs) {
  const TextNormalizer nfc({{NormalizerStep::Kind::nfc}});
  EXPECT_EQ(nfc.normalized("\uac00\u11a7\uac00\u11a8"), "\uac00\u11a7\uac01");
  std::vector<char32_t> composed;
  for (char32_t c = 0; c < kEnd; ++c) {
    if (!is_scalar(c)) continue;
    const std::u32string_view parts = unicode::decomposition(c);
    if (parts.size() > 1) {
      ASSERT_FALSE(is_composed(spell(parts.substr(parts.size() - 1)))) << static_cast<uint32_t>(c);
    }
    if (is_composed(spell({&c, 1}))) composed.push_back(c);
  }
  EXPECT_GT(composed.size(), 1'000'000u);
  std::u32string all;
  std::mt19937 random(7);
  std::shuffle(composed.begin(), composed.end(), random);
  for (size_t i = 0; i < composed.size(); ++i) {
    all += composed[i];
    all += composed[random() % composed.size()] % 0x3000;  // more of the scripts that compose
    if (!is_composed(spell({&all.back(), 1}))) all.pop_back();
  }
  const std::string text = spell(all);
  ASSERT_TRUE(is_composed(text));
  EXPECT_TRUE(nfc.normalized(text) == text);
}

}  // namespace
}  // namespace bert::tokenizer

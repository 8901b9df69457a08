// SPDX-License-Identifier: Apache-2.0
#include "models/tasks/extraction/words.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "models/bert_infer.h"

namespace bert {
namespace {

using Texts = std::vector<std::string>;

Texts split(const std::string& text) {
  Texts words;
  for (const models::Word& word : models::split_words(text)) words.emplace_back(word.string);
  return words;
}

// Python's re.findall(r"\w+(?:[-_]\w+)*|\S", text).
TEST(Words, AreThoseOfThePublishedExpression) {
  EXPECT_EQ(split(""), Texts{});
  EXPECT_EQ(split(" \t\u00a0\u3000\x1f\n"), Texts{});
  EXPECT_EQ(split("a well-known x_1-y."), (Texts{"a", "well-known", "x_1-y", "."}));
  EXPECT_EQ(split("a--b -c- d-_-e"), (Texts{"a", "-", "-", "b", "-", "c", "-", "d-_-e"}));
  EXPECT_EQ(split("\u4f60\u597d\uff0c3.5\u20ac"),
            (Texts{"\u4f60\u597d", "\uff0c", "3", ".", "5", "\u20ac"}));
  EXPECT_EQ(split("cafe\u0301s \u0661\u0662 \u00bd\u2167"),  // a mark is no part of a word
            (Texts{"cafe", "\u0301", "s", "\u0661\u0662", "\u00bd\u2167"}));
  const std::vector<models::Word> words = models::split_words("\u00e9 \U0001d49c-b");
  EXPECT_EQ(words[1].offset, (Offset{2, 5}));
}

}  // namespace
}  // namespace bert

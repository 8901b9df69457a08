// SPDX-License-Identifier: Apache-2.0
//
// Masks filled in, against the logits of run_tokens().
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/models/copied_model.h"

namespace bert {
namespace {

using test::CopiedModel;
using test::error_of;
using test::load_golden;
using test::same_bits;
using testing::HasSubstr;

std::vector<Input> masked_texts(const std::string& mask) {
  return {{"a man plays the guitar"},
          {"a " + mask + " plays"},
          {mask},
          {"two " + mask + " on the " + mask + ".", std::nullopt},
          {"the girl is walking", "the " + mask},
          {mask + " dogs", "dogs " + mask + " and a boy eats, running in the piano"}};
}

void expect_same(const std::vector<Blank>& a, const std::vector<Blank>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].token, b[i].token);
    ASSERT_EQ(a[i].fills.size(), b[i].fills.size());
    for (size_t j = 0; j < a[i].fills.size(); ++j) {
      ASSERT_EQ(a[i].fills[j].id, b[i].fills[j].id);
      ASSERT_EQ(a[i].fills[j].token, b[i].fills[j].token);
      ASSERT_TRUE(same_bits({&a[i].fills[j].probability, 1}, {&b[i].fills[j].probability, 1}));
    }
  }
}

// Expects the whole vocabulary, by probability and then by id, with the probabilities of a softmax.
void check_blank(const Model& model, const Blank& blank, const Output& logits) {
  const std::vector<double> want = test::softmax(logits.row(blank.token));
  ASSERT_EQ(blank.fills.size(), want.size());
  std::set<int32_t> seen;
  for (size_t j = 0; j < blank.fills.size(); ++j) {
    const Blank::Fill& fill = blank.fills[j];
    seen.insert(fill.id);
    ASSERT_NEAR(fill.probability, want[fill.id], 1e-6 * want[fill.id] + 1e-12);
    ASSERT_EQ(fill.token, model.tokenizer().token(fill.id));
    if (j == 0) continue;
    const Blank::Fill& before = blank.fills[j - 1];
    ASSERT_TRUE(before.probability > fill.probability ||
                (before.probability == fill.probability && before.id < fill.id));
  }
  EXPECT_EQ(seen.size(), want.size());
}

class FillMask : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(FillMask, IsASoftmaxOfTheLogitsAtEachMask) {
  const auto& [name, mask] = GetParam();
  const Model model = load_golden(name);
  EXPECT_EQ(model.info().task, Task::fill_mask);
  const std::vector<Input> inputs = masked_texts(mask);
  const std::vector<Encoding> encodings = model.tokenize(inputs);
  const std::vector<Output> logits = model.run_tokens(inputs);
  const auto all = model.fill_mask(inputs, 100000);
  const size_t masks[] = {0, 1, 1, 2, 1, 2};
  ASSERT_EQ(all.size(), inputs.size());
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_EQ(all[i].size(), masks[i]);
    for (size_t j = 0; j < all[i].size(); ++j) {
      EXPECT_EQ(model.tokenizer().token(encodings[i].ids[all[i][j].token]), mask);
      if (j > 0) {
        EXPECT_LT(all[i][j - 1].token, all[i][j].token);
      }
      check_blank(model, all[i][j], logits[i]);
    }
  }
}

TEST_P(FillMask, GivesTheSameBitsAloneAndForAnyThreadCount) {
  const auto& [name, mask] = GetParam();
  const Model one = load_golden(name, 1), two = load_golden(name, 2);
  const std::vector<Input> inputs = masked_texts(mask);
  const auto whole = one.fill_mask(inputs, 1000), few = one.fill_mask(inputs),
             by_two = two.fill_mask(inputs, 1000);
  for (size_t i = 0; i < inputs.size(); ++i) {
    expect_same(by_two[i], whole[i]);
    expect_same(one.fill_mask({&inputs[i], 1}, 1000)[0], whole[i]);
    expect_same(two.fill_mask({&inputs[i], 1}, 1000)[0], whole[i]);
    for (size_t j = 0; j < whole[i].size(); ++j) {
      std::vector<Blank> best = {whole[i][j]};
      best[0].fills.resize(5);
      expect_same({few[i][j]}, best);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Families, FillMask,
    testing::Values(std::pair{"bert-mlm", "[MASK]"}, std::pair{"distilbert-mlm", "[MASK]"},
                    std::pair{"electra-mlm", "[MASK]"}, std::pair{"albert-mlm", "[MASK]"},
                    std::pair{"rembert-mlm", "[MASK]"}, std::pair{"xlm-roberta-mlm", "<mask>"},
                    std::pair{"camembert-mlm", "<mask>"}, std::pair{"mpnet-mlm", "<mask>"},
                    std::pair{"pretraining", "[MASK]"}));

TEST(FillMask, LowestIdIsFirstAmongEquals) {
  const CopiedModel copy("bert-mlm");
  // Every four tokens share the first one's row; the decoder is tied to it.
  copy.change_tensor("bert.embeddings.word_embeddings.weight", [](float* values, size_t count) {
    const size_t width = 39;
    for (size_t i = 0; i < count; ++i) values[i] = values[i / width / 4 * 4 * width + i % width];
  });
  copy.change_tensor("cls.predictions.bias", [](float* values, size_t count) {
    for (size_t i = 0; i < count; ++i) values[i] = values[i / 4 * 4];
  });
  const Model model = Model::load(copy.path());
  const auto fills = model.fill_mask(std::vector<Input>{{"a [MASK] plays"}}, 198)[0][0].fills;
  ASSERT_EQ(fills.size(), 198u);
  for (size_t j = 0; j < fills.size(); ++j) {
    EXPECT_EQ(fills[j].id, fills[j / 4 * 4].id / 4 * 4 + static_cast<int>(j % 4));
    EXPECT_EQ(fills[j].probability, fills[j / 4 * 4].probability);
  }
}

TEST(FillMask, RefusesInvalidArguments) {
  const Model model = load_golden("bert-mlm");
  const std::vector<Input> inputs = {{"a [MASK]"}};
  EXPECT_THAT(error_of([&] { model.fill_mask(inputs, 0); }), HasSubstr("k is 0"));
  EXPECT_THAT(error_of([&] { model.fill_mask(inputs, -3); }), HasSubstr("k is -3"));
  EXPECT_THAT(error_of([&] {
                model.fill_mask(std::vector<Input>{{"a"}, {"\xff"}});
              }),
              HasSubstr("input 1"));
  EXPECT_TRUE(model.fill_mask(std::span<const Input>()).empty());
}

// Padding rows of the embeddings have ids for which the tokenizer has no token.
TEST(FillMask, IdsBeyondTheTokenizerHaveNoName) {
  const CopiedModel copy("bert-mlm");
  std::string vocabulary = copy.read("vocab.txt");
  vocabulary.resize(vocabulary.rfind("##ly"));
  copy.write("vocab.txt", vocabulary);
  const Model model = Model::load(copy.path());
  int nameless = 0;
  const auto filled = model.fill_mask(std::vector<Input>{{"[MASK]"}}, 200);
  for (const Blank::Fill& fill : filled[0][0].fills) {
    EXPECT_EQ(fill.token.empty(), fill.id == 199);
    nameless += fill.token.empty();
  }
  EXPECT_EQ(nameless, 1);
  // The first id of a repeated line has no token.
  copy.write("vocab.txt",
             vocabulary.substr(0, vocabulary.rfind('\n', vocabulary.size() - 2)) + "\n[PAD]\n");
  const auto again = Model::load(copy.path()).fill_mask(std::vector<Input>{{"[MASK]"}}, 200);
  for (const Blank::Fill& fill : again[0][0].fills) {
    EXPECT_EQ(fill.token.empty(), fill.id == 199) << fill.id;
  }
}

TEST(FillMask, ADecoderBiasThatDiffersIsRefused) {
  const CopiedModel copy("bert-mlm-stored");
  copy.change_tensor("cls.predictions.decoder.bias", [](float* bias, size_t) { bias[3] += 1; });
  EXPECT_THAT(error_of([&] { Model::load(copy.path()); }),
              HasSubstr("'cls.predictions.decoder.bias' differs from 'cls.predictions.bias'"));
}

TEST(Tokenizer, RefusesIdsThatItDoesNotHave) {
  const Model model = load_golden("bert-mlm");
  for (const int32_t id : {-1, 200, 1 << 30}) {
    EXPECT_THAT(error_of([&] { model.tokenizer().token(id); }), HasSubstr("not in the vocabulary"));
    EXPECT_THAT(error_of([&] { model.tokenizer().continues_word(id); }),
                HasSubstr("not in the vocabulary"));
  }
}

TEST(Tokenizer, ThrowsNothingButErrors) {
  const Tokenizer tokenizer = load_golden("bert-mlm").tokenizer();
  const Input invalid{"\xff"};
  EXPECT_THAT(error_of([&] { tokenizer.encode(invalid); }), HasSubstr("UTF-8"));
  EXPECT_THAT(error_of([&] { tokenizer.strings(invalid); }), HasSubstr("UTF-8"));
  for (const int32_t id : {-1, 1 << 30}) {
    EXPECT_THAT(error_of([&] { tokenizer.decode(std::vector<int32_t>{id}); }),
                HasSubstr("not in the vocabulary"));
  }
}

}  // namespace
}  // namespace bert

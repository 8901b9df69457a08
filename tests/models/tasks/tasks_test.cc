// SPDX-License-Identifier: Apache-2.0
//
// Masks filled, words tagged, choices made, each against the logits of run() and run_tokens().
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/tasks/spans.h"
#include "tests/models/copied_model.h"

namespace bert {
namespace {

using test::CopiedModel;
using test::error_of;
using test::load_golden;
using test::same_bits;
using testing::HasSubstr;

// ---- fill_mask ----------------------------------------------------------------------------------

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

// All of the vocabulary, by probability and then by id, with the probabilities of a softmax.
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
                    std::pair{"xlm-roberta-mlm", "<mask>"}, std::pair{"camembert-mlm", "<mask>"},
                    std::pair{"mpnet-mlm", "<mask>"}, std::pair{"pretraining", "[MASK]"}));

TEST(FillMask, OfEqualsTheFirstIdIsFirst) {
  const CopiedModel copy("bert-mlm");
  // Every fourth token's row is that of the first of four: the decoder is tied to it.
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

TEST(FillMask, RefusesWhatMakesNoSense) {
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

// Rows of padding in the embeddings have ids that the tokenizer has no name for.
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
  // Of a line that is repeated the first id has no token.
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

// ---- tag ----------------------------------------------------------------------------------------

struct Word {
  int token;  // that of its first piece
  int text;
  Offset offset;
  std::string string;
};

void check_words(const Model& model, const Input& input, const std::vector<Word>& want) {
  SCOPED_TRACE(input.first + " / " + input.second.value_or("-"));
  const Tags tags = model.tag({&input, 1})[0];
  const Output logits = model.run_tokens({&input, 1})[0];
  EXPECT_EQ(tags.tokens, logits.rows);
  ASSERT_EQ(tags.words.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const Span& word = tags.words[i];
    EXPECT_EQ(word.text, want[i].text) << i;
    EXPECT_EQ(word.offset, want[i].offset) << i << ": " << word.offset.begin;
    EXPECT_EQ(word.string, want[i].string) << i;
    const std::vector<double> scores = test::softmax(logits.row(want[i].token));
    const auto best = std::ranges::max_element(scores) - scores.begin();
    EXPECT_EQ(word.label, model.info().labels[best]) << i;
    EXPECT_NEAR(word.probability, scores[best], 1e-6) << i;
  }
}

TEST(Tag, WordPieceWordsAreWholeAndHaveTheOffsetsOfTheText) {
  const Model model = load_golden("bert-tokens");
  check_words(model, {"Caf\u00e9 e\u0301d dogs!", "你好 \U0001F600x"},
              {{1, 0, {0, 4}, "Caf\u00e9"},
               {5, 0, {5, 8}, "e\u0301d"},
               {7, 0, {9, 13}, "dogs"},
               {8, 0, {13, 14}, "!"},
               {10, 1, {0, 1}, "你"},
               {11, 1, {1, 2}, "好"},
               {12, 1, {3, 5}, "\U0001F600x"}});
  // A mark at a word's end is dropped before there are tokens, and counted to none.
  check_words(model, {"cafe\u0301", std::nullopt}, {{1, 0, {0, 4}, "cafe"}});
  check_words(model, {"", "playing"}, {{2, 1, {0, 7}, "playing"}});
  check_words(model, {"a", ""}, {{1, 0, {0, 1}, "a"}});
  check_words(model, {"", std::nullopt}, {});
  check_words(model, {" walked\tx1  ", std::nullopt},
              {{1, 0, {1, 7}, "walked"}, {6, 0, {8, 10}, "x1"}});
}

TEST(Tag, SentencePieceWordsAreWholeAndHaveTheOffsetsOfTheText) {
  const Model model = load_golden("xlm-roberta-tokens");
  // An unknown piece within a word is a word of its own, as in Hugging Face's pipeline.
  check_words(model, {"two dogs", "caf\u00e9 \U0001F600"},
              {{1, 0, {0, 3}, "two"},
               {2, 0, {4, 8}, "dogs"},
               {5, 1, {0, 3}, "caf"},
               {9, 1, {3, 4}, "\u00e9"},
               {10, 1, {5, 6}, "\U0001F600"}});
  check_words(model, {"", "a man"}, {{3, 1, {0, 1}, "a"}, {4, 1, {2, 5}, "man"}});
  check_words(model, {"  walked ", std::nullopt}, {{1, 0, {2, 8}, "walked"}});
  check_words(model, {"", std::nullopt}, {});
}

std::vector<Span> words_of(const std::string& text, const std::vector<std::string>& labels) {
  std::vector<Span> words;
  int32_t at = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto end = std::min(text.find(' ', at), text.size());
    words.push_back({0,
                     {at, static_cast<int32_t>(end)},
                     text.substr(at, end - at),
                     labels[i],
                     0.5f + 0.125f * static_cast<float>(i % 4)});
    at = static_cast<int32_t>(end) + 1;
  }
  return words;
}

// "LABEL string" of each entity.
std::vector<std::string> grouped(const std::vector<Span>& words, const Input& input) {
  std::vector<std::string> result;
  for (const Span& entity : models::entities_of(words, input)) {
    result.push_back(entity.label + " " + entity.string);
  }
  return result;
}

TEST(Entities, AreNeighbouringWordsOfOneKind) {
  const std::string text = "a b c d e f";
  using Strings = std::vector<std::string>;
  const auto of = [&](const Strings& labels) { return grouped(words_of(text, labels), {text}); };
  EXPECT_EQ(of({"O", "O"}), Strings{});
  EXPECT_EQ(of({"B-PER", "I-PER", "O", "I-PER"}), (Strings{"PER a b", "PER d"}));
  EXPECT_EQ(of({"B-PER", "B-PER", "I-PER", "I-LOC"}), (Strings{"PER a", "PER b c", "LOC d"}));
  EXPECT_EQ(of({"I-LOC", "I-LOC", "B-LOC"}), (Strings{"LOC a b", "LOC c"}));
  EXPECT_EQ(of({"VERB", "VERB", "NOUN", "O", "NOUN"}), (Strings{"VERB a b", "NOUN c", "NOUN e"}));
  EXPECT_EQ(of({"B-A-B", "I-A-B"}), Strings{"A-B a b"});

  const std::vector<Span> entities =
      models::entities_of(words_of(text, {"O", "B-X", "I-X", "I-X", "O"}), {text});
  ASSERT_EQ(entities.size(), 1u);
  EXPECT_EQ(entities[0].offset, (Offset{2, 7}));
  EXPECT_FLOAT_EQ(entities[0].probability, (0.625f + 0.75f + 0.875f) / 3);

  std::vector<Span> both = words_of(text, {"B-X", "I-X"});
  both[1].text = 1;
  both[1].offset = {0, 2};
  EXPECT_EQ(grouped(both, {text, "\u00e9\u00e9!"}), (Strings{"X a", "X \u00e9\u00e9"}))
      << "texts are apart";
}

TEST(Tag, EntitiesAreThoseOfTheWords) {
  for (const char* name : {"bert-tokens", "xlm-roberta-tokens"}) {
    const CopiedModel copy(name);
    copy.change("config.json",
                {{"id2label",
                  {{"0", "O"}, {"1", "B-PER"}, {"2", "I-PER"}, {"3", "B-LOC"}, {"4", "I-LOC"}}}});
    const Model model = Model::load(copy.path());
    const std::vector<Input> inputs = {
        {"the girl is walking and two men play", "a boy on the beach, the dogs are running"},
        {"not a piano", "in the guitar"}};
    size_t entities = 0, longest = 0;
    for (const Tags& tags : model.tag(inputs)) {
      EXPECT_FALSE(tags.truncated);
      entities += tags.entities.size();
      for (const Span& entity : tags.entities) {
        EXPECT_TRUE(entity.label == "PER" || entity.label == "LOC") << entity.label;
        EXPECT_EQ(entity.string.find_first_of(' '), entity.string.find(' ', 1));
        const auto is_in = [&](const Span& word) {
          return word.text == entity.text && word.offset.begin >= entity.offset.begin &&
                 word.offset.end <= entity.offset.end;
        };
        const auto words = static_cast<size_t>(std::ranges::count_if(tags.words, is_in));
        EXPECT_GE(words, 1u);
        longest = std::max(longest, words);
        for (const Span& word : tags.words) {
          if (is_in(word)) {
            EXPECT_EQ(word.label.substr(2), entity.label);
          }
        }
      }
    }
    EXPECT_GT(entities, 0u);
    EXPECT_GT(longest, 1u);
  }
}

TEST(Tag, SaysWhatWasCutOff) {
  for (const char* name : {"bert-tokens", "xlm-roberta-tokens"}) {
    const Model model = load_golden(name, 1, Precision::automatic, 7);
    const std::vector<Input> inputs = {{"the dogs are running on the beach"}, {"two dogs"}};
    const std::vector<Tags> tags = model.tag(inputs);
    EXPECT_TRUE(tags[0].truncated);
    EXPECT_EQ(tags[0].tokens, 7);
    EXPECT_EQ(tags[0].words.size(), 5u);
    EXPECT_EQ(tags[0].words.back().string, "on");
    EXPECT_FALSE(tags[1].truncated);
    EXPECT_EQ(tags[1].tokens, 4);
  }
}

}  // namespace
}  // namespace bert

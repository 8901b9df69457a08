// SPDX-License-Identifier: Apache-2.0
//
// The answers of a Queue are the Model's, and so are its errors.
#include <functional>
#include <future>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/bert_queue.h"
#include "tests/models/calls/held_queue.h"

namespace bert {
namespace {

using test::error_of;
using test::Held;
using test::load_golden;
using test::load_small_batches;
using test::mixed;
using test::same_bits;
using testing::HasSubstr;

TEST(QueueAnswers, RunEmbedAndHiddenAnswerTheModelsBits) {
  const Model model = load_small_batches("plain", 256);
  Queue queue(model);
  for (const int count : {1, 7, 60}) {  // alone, a small request, and one in several parts
    const std::vector<Encoding> inputs = mixed(model, count, 40, 1);
    EXPECT_TRUE(same_bits(queue.run(inputs).get().values, model.run(inputs).values));
    EXPECT_TRUE(same_bits(queue.embed(inputs).get().values, model.embed(inputs).values));
    const std::vector<int> layers = {0, -1};
    const auto found = queue.hidden(inputs, layers).get(), wanted = model.hidden(inputs, layers);
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_TRUE(same_bits(found[i].states.values, wanted[i].states.values)) << i;
      EXPECT_TRUE(same_bits(found[i].pooler, wanted[i].pooler)) << i;
      EXPECT_TRUE(same_bits(found[i].layers[0].values, wanted[i].layers[0].values)) << i;
    }
  }
  const std::vector<Input> texts = {{"a man plays", "the guitar"}, {"dogs"}};
  EXPECT_TRUE(same_bits(queue.run(texts).get().values, model.run(texts).values));
  const std::vector<Input> many(100, {"two dogs", "a man"});
  EXPECT_TRUE(same_bits(queue.run(many).get().values, model.run(many).values));
}

TEST(QueueAnswers, TasksAnswerAsTheModelDoes) {
  const std::vector<Input> texts = {{"a man [MASK] music", "a guitar"},
                                    {"dogs [MASK]", "a [MASK]"}};
  const Model filler = load_golden("bert-mlm"), tagger = load_golden("bert-tokens");
  const Model answerer = load_golden("bert-qa"), chooser = load_golden("bert-choice");
  Queue fill(filler), tags(tagger), answers(answerer), choices(chooser);
  const auto fills = fill.fill_mask(texts, 3).get(), want_fills = filler.fill_mask(texts, 3);
  ASSERT_EQ(fills[1].size(), 2);
  EXPECT_EQ(fills[1][1].fills[2].id, want_fills[1][1].fills[2].id);
  EXPECT_EQ(fills[1][1].fills[2].probability, want_fills[1][1].fills[2].probability);
  const auto tokens = tags.run_tokens(texts).get(), want_tokens = tagger.run_tokens(texts);
  EXPECT_TRUE(same_bits(tokens[1].values, want_tokens[1].values));
  const TagOptions how = {.aggregation = Aggregation::max};
  const auto words = tags.tag(texts, how).get()[0].words;
  const auto want_words = tagger.tag(texts, how)[0].words;
  ASSERT_EQ(words.size(), want_words.size());
  EXPECT_EQ(words[2].string, want_words[2].string);
  EXPECT_EQ(words[2].probability, want_words[2].probability);
  const AnswerOptions three = {.top_k = 3};
  const auto found = answers.answer(texts, three).get(), want = answerer.answer(texts, three);
  EXPECT_EQ(found[1].string, want[1].string);
  EXPECT_EQ(found[1].score, want[1].score);
  ASSERT_EQ(found[0].others.size(), 2);
  EXPECT_EQ(found[0].others[1].score, want[0].others[1].score);
  const std::vector<Choices> asked = {{"dogs", {"a man", "music", "a guitar"}}};
  const auto chosen = choices.choose(asked).get(), want_chosen = chooser.choose(asked);
  EXPECT_TRUE(same_bits(chosen[0].logits, want_chosen[0].logits));
  const Model searcher = load_golden("bge-m3"), colbert = load_golden("colbert");
  Queue sparse(searcher), vectors(colbert);
  const SparseVector weights = sparse.sparse(texts).get()[1], wanted = searcher.sparse(texts)[1];
  EXPECT_EQ(weights.ids, wanted.ids);
  EXPECT_TRUE(same_bits(weights.weights, wanted.weights));
  const std::vector<Input> one = {{"a man"}};
  for (const Role role : {Role::query, Role::document}) {
    EXPECT_TRUE(same_bits(vectors.multi_vector(one, role).get()[0].values,
                          colbert.multi_vector(one, role)[0].values));
  }
}

// How many batches two requests need that wait together.
template <typename Ask>
int64_t batches_of_two(const char* name, const Ask& ask) {
  Queue queue(load_golden(name, 2));
  Held held(queue);
  auto first = ask(queue, 0), second = ask(queue, 1);
  held.release();
  EXPECT_FALSE(first.get().empty());
  second.wait();
  return queue.statistics().batches - 1;
}

TEST(QueueAnswers, RequestsWhoseOptionsDifferShareNoBatch) {
  const std::vector<Input> texts = {{"a man [MASK] music", "a guitar"}};
  const auto tag = [&](TagOptions how) {
    return batches_of_two("bert-tokens", [&](Queue& queue, int i) {
      return queue.tag(texts, i == 0 ? TagOptions() : how);
    });
  };
  EXPECT_EQ(tag({}), 1);
  EXPECT_EQ(tag({.aggregation = Aggregation::max}), 2);
  EXPECT_EQ(tag({.stride = 1}), 2);
  EXPECT_EQ(tag({.labels = {"person"}}), 2);
  EXPECT_EQ(tag({.threshold = 0.25f}), 2);
  EXPECT_EQ(tag({.nested = true}), 2);
  EXPECT_EQ(tag({.multi_label = true}), 2);
  const auto answer = [&](AnswerOptions how) {
    return batches_of_two("bert-qa", [&](Queue& queue, int i) {
      return queue.answer(texts, i == 0 ? AnswerOptions() : how);
    });
  };
  EXPECT_EQ(answer({}), 1);
  EXPECT_EQ(answer({.stride = 1}), 2);
  EXPECT_EQ(answer({.most_tokens = 1}), 2);
  EXPECT_EQ(answer({.top_k = 2}), 2);
  for (const bool differ : {false, true}) {
    const auto fill = [&](Queue& queue, int i) { return queue.fill_mask(texts, 1 + i * differ); };
    EXPECT_EQ(batches_of_two("bert-mlm", fill), 1 + differ);
    const auto hidden = [&](Queue& queue, int i) { return queue.hidden(texts, {i * differ}); };
    EXPECT_EQ(batches_of_two("plain", hidden), 1 + differ);
    const std::vector<Input> one = {{"a man"}};
    const auto vectors = [&](Queue& queue, int i) {
      return queue.multi_vector(one, i == 0 || !differ ? Role::query : Role::document);
    };
    EXPECT_EQ(batches_of_two("bge-m3", vectors), 1 + differ);
  }
}

TEST(QueueAnswers, WrongInputsAreErrorsInTheAnswerAsTheModelThrowsThem) {
  const Model model = load_golden("plain"), encoder = load_golden("bert-tokens");
  Queue queue(model), without_logits(encoder);
  const auto expect_same = [](std::future<Output> answer, const std::function<void()>& call) {
    EXPECT_EQ(error_of(answer), test::error_of(call));
  };
  const std::vector<Input> texts = {{"a man"}, {"\xff"}};
  expect_same(queue.run(texts), [&] { model.run(texts); });
  std::vector<Encoding> ids = {test::kInput, test::kInput};
  ids[1].ids[2] = 1 << 30;
  expect_same(queue.embed(ids), [&] { model.embed(ids); });
  expect_same(without_logits.run(std::vector{test::kInput}),
              [&] { encoder.run(std::vector{test::kInput}); });
  std::future<std::vector<Tags>> tags = queue.tag({{"a man"}});
  EXPECT_EQ(error_of(tags), test::error_of([&] { model.tag(std::vector<Input>{{"a man"}}); }));
  const Output none = queue.embed(std::vector<Input>()).get();
  EXPECT_EQ(none.rows, 0);
  EXPECT_EQ(none.columns, model.info().embedding);
  EXPECT_EQ(queue.statistics().failed, 3);
}

TEST(QueueAnswers, ThoseOfABatchAreFollowedByOneCall) {
  const Model model = load_small_batches("plain", 256);
  std::mutex mutex;
  std::string events;
  const auto note = [&](char event) {
    const std::lock_guard lock(mutex);
    events += event;
  };
  {
    Queue queue(model, {.answered = [&] { note('.'); }});
    std::latch left(3);
    const auto done = [&](const std::future<Output>&) {
      note('a');
      left.count_down();
    };
    Held held(queue);
    for (int i = 0; i < 3; ++i) queue.embed(std::vector{test::kInput}, {}, done);
    held.release();
    left.wait();
  }
  EXPECT_EQ(events, ".aaa.");
  events.clear();
  {
    Queue queue(model, {.answered = [&] {
                  note('.');
                  throw std::runtime_error("is ignored");
                }});
    queue.embed(std::vector{Encoding()}, {}, [&](const std::future<Output>&) { note('a'); });
  }
  EXPECT_EQ(events, "a.");
}

// A weight that is not finite is found in answers that depend on it, which may share a batch with
// answers that do not.
TEST(QueueAnswers, AnErrorInABatchIsOnlyThatOfTheRequestThatCausesIt) {
  const test::CopiedModel copy("plain");
  copy.change_tensor("bert.embeddings.word_embeddings.weight", [&](float* values, size_t count) {
    values[count - 1] = NAN;  // of the last id
  });
  Options options;
  options.threads = 2;
  const Model model = Model::load(copy.path(), options);
  const Encoding good = test::kInput;
  Encoding bad = good;
  bad.ids[2] = model.info().vocabulary - 1;
  const std::string error = test::error_of([&] { model.embed(std::vector{good, bad}); });
  ASSERT_THAT(error, HasSubstr("input 1: the model of"));
  Queue queue(model);
  std::vector<std::future<Output>> answers;
  {
    Held held(queue);
    answers.push_back(queue.embed(std::vector{good}));
    answers.push_back(queue.embed(std::vector{good, bad}));
    answers.push_back(queue.embed(std::vector{good, good}));
  }
  EXPECT_TRUE(same_bits(answers[0].get().values, model.embed(std::vector{good}).values));
  EXPECT_EQ(error_of(answers[1]), error);
  EXPECT_EQ(answers[2].get().rows, 2);
  std::vector<Encoding> many(1000, good);
  many[900] = bad;
  std::future<Output> large = queue.embed(many);
  EXPECT_THAT(error_of(large),
              testing::MatchesRegex("of the inputs from 682 to 999, input 218: .*"));
}

}  // namespace
}  // namespace bert

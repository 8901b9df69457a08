// SPDX-License-Identifier: Apache-2.0
//
// Labels, documents and texts of a corpus in the order of their scores, against slow twins.
#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/tasks/on_this_thread.h"
#include "models/tasks/ranking/bert_ranking.h"
#include "tests/models/copied_model.h"

namespace bert {
namespace {

using test::CopiedModel;
using test::error_of;
using test::load_golden;
using testing::HasSubstr;

std::vector<std::string> random_texts(size_t count, unsigned seed) {
  const std::vector<std::string> words = {"a",   "man",  "is",    "the", "girl",
                                          "two", "dogs", "play",  "eat", "red",
                                          "car", "on",   "beach", "and", "piano"};
  std::mt19937 generator(seed);
  std::vector<std::string> texts(count);
  for (std::string& text : texts) {
    for (auto left = generator() % 8 + 1; left > 0; --left) {
      text += words[generator() % words.size()] + (left > 1 ? " " : "");
    }
  }
  return texts;
}

std::vector<Input> as_inputs(std::span<const std::string> texts, const std::string& prompt = "") {
  std::vector<Input> inputs;
  for (const std::string& text : texts) inputs.push_back({prompt + text});
  return inputs;
}

// Every pair by the public functions, one after another.
std::vector<std::vector<float>> slow_scores(const Model& model,
                                            std::span<const std::string> queries,
                                            std::span<const std::string> texts,
                                            const std::string& of_query = "",
                                            const std::string& of_text = "") {
  const auto a = as_inputs(queries, of_query), b = as_inputs(texts, of_text);
  std::vector<std::vector<float>> scores(queries.size());
  const auto compare = [&](const auto& score) {
    for (size_t i = 0; i < queries.size(); ++i) {
      for (size_t j = 0; j < texts.size(); ++j) scores[i].push_back(score(i, j));
    }
  };
  if (model.info().embedding > 0) {
    const Output x = model.embed(a), y = model.embed(b);
    compare([&](size_t i, size_t j) {
      return similarity(x.row(static_cast<int64_t>(i)), y.row(static_cast<int64_t>(j)),
                        model.info());
    });
  } else if (model.info().has_sparse) {
    const auto x = model.sparse(a), y = model.sparse(b);
    compare([&](size_t i, size_t j) { return dot(x[i], y[j]); });
  } else {
    const auto x = model.multi_vector(a, Role::query), y = model.multi_vector(b, Role::document);
    compare([&](size_t i, size_t j) {
      const float sum = max_sim(x[i], y[j]);
      return model.info().similarity == "meanmaxsim" ? sum / static_cast<float>(x[i].rows) : sum;
    });
  }
  return scores;
}

void expect_best(const Matches& found, std::span<const float> scores, size_t k) {
  std::vector<float> sorted(scores.begin(), scores.end());
  std::ranges::sort(sorted, std::greater<>());
  ASSERT_EQ(found.best.size(), std::min(k, scores.size()));
  const float scale = std::max(1.0f, std::abs(sorted.empty() ? 0 : sorted[0]));
  for (size_t i = 0; i < found.best.size(); ++i) {
    const auto& [index, score] = found.best[i];
    EXPECT_NEAR(score, scores[index], 2e-6 * scale);
    EXPECT_NEAR(score, sorted[i], 2e-6 * scale);
    if (i == 0) continue;
    const Match& before = found.best[i - 1];
    EXPECT_TRUE(before.score > score || (before.score == score && before.index < index));
  }
}

TEST(Corpus, FindsWhatComparingEveryPairFinds) {
  // More texts than a block has, and more queries than are compared at a time.
  const auto texts = random_texts(4500, 1), queries = random_texts(131, 2);
  const Model model = load_golden("st-mean", 2);
  Corpus corpus(model);
  const std::span<const std::string> all = texts;
  corpus.add(all.subspan(0, 1));
  corpus.add({});
  corpus.add(all.subspan(1));
  EXPECT_EQ(corpus.size(), 4500);
  EXPECT_GE(corpus.memory(), 4500 * model.info().embedding * 4);
  EXPECT_LE(corpus.memory(), 2 * 4096 * model.info().embedding * 4);
  const auto scores = slow_scores(model, queries, texts);
  const std::vector<Matches> found = corpus.search(queries, 10);
  const std::vector<Encoding> encodings = model.tokenize(as_inputs(queries));
  ASSERT_EQ(found.size(), queries.size());
  for (size_t i = 0; i < found.size(); ++i) {
    expect_best(found[i], scores[i], 10);
    EXPECT_EQ(found[i].tokens, std::ssize(encodings[i].ids));
    EXPECT_FALSE(found[i].truncated);
  }
  std::string long_query;
  for (const std::string& query : queries) long_query += query + ' ';
  EXPECT_TRUE(corpus.search({&long_query, 1}, 1)[0].truncated);
  // The same bits alone, and with another division of the work.
  const Matches alone = corpus.search({&queries[130], 1}, 4500)[0];
  expect_best(alone, scores[130], 4500);
  Corpus other(load_golden("st-mean", 1));
  other.add(texts);
  const Matches again = other.search({&queries[130], 1}, 10)[0];
  for (size_t i = 0; i < 10; ++i) {
    for (const Matches& one : {alone, again}) {
      EXPECT_EQ(one.best[i].index, found[130].best[i].index);
      EXPECT_EQ(one.best[i].score, found[130].best[i].score);
    }
  }
}

TEST(Corpus, ComparesWhateverVectorsThereAre) {
  const auto texts = random_texts(150, 3), queries = random_texts(5, 4);
  for (const char* name : {"plain", "splade", "colbert", "bge-m3"}) {
    SCOPED_TRACE(name);
    const Model model = load_golden(name, 2);
    Corpus corpus(model);
    corpus.add(texts);
    EXPECT_GT(corpus.memory(), 0);
    const auto scores = slow_scores(model, queries, texts);
    const std::vector<Matches> found = corpus.search(queries, 7);
    for (size_t i = 0; i < queries.size(); ++i) expect_best(found[i], scores[i], 7);
    if (model.info().task == Task::classify) continue;
    const std::vector<Relevance> ranked = relevance(model, queries[0], texts);
    ASSERT_EQ(ranked.size(), texts.size());
    for (size_t j = 0; j < ranked.size(); ++j) {
      EXPECT_NEAR(ranked[j].score, scores[0][j], 1e-5 * std::max(1.0f, std::abs(scores[0][j])));
    }
  }
}

TEST(Corpus, TakesPromptsAndTheSimilarityOfTheDirectory) {
  const auto texts = random_texts(40, 5), queries = random_texts(3, 6);
  for (const char* comparison : {"cosine", "dot", "euclidean", "manhattan"}) {
    SCOPED_TRACE(comparison);
    const CopiedModel copy("st-mean");
    copy.write_json("config_sentence_transformers.json",
                    {{"prompts", {{"query", "two dogs "}, {"document", "the car "}, {"x", "a "}}},
                     {"default_prompt_name", "x"},
                     {"similarity_fn_name", comparison}});
    const Model model = Model::load(copy.path());
    EXPECT_EQ(model.info().similarity, comparison);
    const CopiedModel without("st-mean");
    without.write_json("config_sentence_transformers.json", {{"similarity_fn_name", comparison}});
    const auto scores =
        slow_scores(Model::load(without.path()), queries, texts, "two dogs ", "the car ");
    Corpus corpus(model);
    corpus.add(texts);
    const std::vector<Matches> found = corpus.search(queries, 5);
    for (size_t i = 0; i < queries.size(); ++i) expect_best(found[i], scores[i], 5);
    EXPECT_NEAR(relevance(model, queries[0], texts)[7].score, scores[0][7],
                1e-5 * std::max(1.0f, std::abs(scores[0][7])));
    // A prompt that is asked for is put on both sides.
    Options options;
    options.prompt = "x";
    const auto same = slow_scores(Model::load(without.path()), queries, texts, "a ", "a ");
    EXPECT_NEAR(relevance(Model::load(copy.path(), options), queries[0], texts)[7].score,
                same[0][7], 1e-5 * std::max(1.0f, std::abs(same[0][7])));
  }
  const CopiedModel copy("st-mean");
  const CopiedModel late("colbert");
  late.write_json("config_sentence_transformers.json",
                  {{"prompts", {{"document", "the car "}, {"passage", "a "}}},
                   {"similarity_fn_name", "meanmaxsim"}});
  const Model mean = Model::load(late.path());
  EXPECT_EQ(mean.info().similarity, "meanmaxsim");
  EXPECT_NEAR(relevance(mean, queries[0], texts)[7].score, slow_scores(mean, queries, texts)[0][7],
              1e-5);
  EXPECT_EQ(mean.tokenize(as_inputs(texts), Role::document)[7].ids,
            load_golden("colbert").tokenize(as_inputs(texts, "the car "), Role::document)[7].ids);
  late.write_json("config_sentence_transformers.json", {{"similarity_fn_name", "euclidean"}});
  EXPECT_THAT(load_error(late), HasSubstr("found \"euclidean\", expected maxsim or meanmaxsim"));
  copy.write_json("config_sentence_transformers.json", {{"similarity_fn_name", "jaccard"}});
  EXPECT_THAT(error_of([&] { Model::load(copy.path()); }),
              HasSubstr("similarity_fn_name: found \"jaccard\", expected cosine, dot, euclidean or "
                        "manhattan"));
}

TEST(Corpus, TakesVectorsAsTheyAre) {
  const auto texts = random_texts(4500, 7), queries = random_texts(3, 8);
  for (const char* comparison : {"cosine", "dot", "manhattan"}) {
    SCOPED_TRACE(comparison);
    const CopiedModel copy("st-max");  // whose vectors are not of length 1
    copy.write_json("config_sentence_transformers.json", {{"similarity_fn_name", comparison}});
    const Model model = Model::load(copy.path());
    Corpus of_texts(model), of_vectors(model);
    of_texts.add(texts);
    of_vectors.add({&texts[0], 1});
    of_vectors.add_vectors(model.embed(as_inputs({texts.begin() + 1, texts.end()})));
    EXPECT_EQ(of_vectors.size(), 4500);
    const auto found = of_vectors.search(queries, 9), same = of_texts.search(queries, 9);
    for (size_t i = 0; i < queries.size(); ++i) {
      for (size_t j = 0; j < 9; ++j) {
        EXPECT_EQ(found[i].best[j].index, same[i].best[j].index);
        EXPECT_EQ(found[i].best[j].score, same[i].best[j].score);
      }
    }
  }
}

TEST(Corpus, RefusesVectorsOfOtherKinds) {
  Corpus corpus(load_golden("st-max"));
  Output vectors(3, 48);
  corpus.add_vectors(vectors);
  vectors.row(1)[5] = INFINITY;
  EXPECT_THAT(error_of([&] { corpus.add_vectors(vectors); }),
              HasSubstr("vector 1 has a number that is not finite"));
  EXPECT_THAT(error_of([&] { corpus.add_vectors(Output(2, 47)); }),
              HasSubstr("the vectors have 47 numbers, expected 48, as the model's embeddings"));
  vectors.rows = 4;
  EXPECT_THAT(error_of([&] { corpus.add_vectors(vectors); }),
              HasSubstr("the vectors have 144 numbers in all, expected 4 times 48"));
  EXPECT_EQ(corpus.size(), 3);
  Corpus sparse(load_golden("splade"));
  EXPECT_THAT(error_of([&] { sparse.add_vectors(Output(2, 48)); }),
              HasSubstr("the model has no embeddings to compare vectors with"));
}

TEST(Corpus, AddsNothingIfATextIsBad) {
  Corpus corpus(load_golden("st-mean"));
  const std::vector<std::string> texts = {"a man", "\xff"}, query = {"two", "\xff"};
  EXPECT_THAT(error_of([&] { corpus.add(texts); }), HasSubstr("input 1: "));
  EXPECT_EQ(corpus.size(), 0);
  EXPECT_TRUE(corpus.search({&query[0], 1}, 3)[0].best.empty());
  corpus.add({texts.data(), 1});
  EXPECT_EQ(corpus.search({&query[0], 1}, 3)[0].best.size(), 1u);
  EXPECT_TRUE(corpus.search({&query[0], 1}, 0)[0].best.empty());
  EXPECT_TRUE(corpus.search({}, 3).empty());
  EXPECT_THAT(error_of([&] { corpus.search({&query[0], 1}, -1); }), HasSubstr("k is -1"));
  std::vector<std::string> many(200, "a man");
  many.push_back("\xff");
  EXPECT_THAT(error_of([&] { corpus.search(many, 1); }), HasSubstr("input 200: "));
}

TEST(Threads, SearchACorpusAtOnce) {
  Corpus corpus(load_golden("st-mean", 2));
  corpus.add(random_texts(200, 7));
  const auto queries = random_texts(3, 8);
  const std::vector<Matches> expected = corpus.search(queries, 4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 5; ++j) {
        const std::vector<Matches> found = corpus.search(queries, 4);
        for (size_t q = 0; q < found.size(); ++q) {
          EXPECT_EQ(found[q].best[3].index, expected[q].best[3].index);
          EXPECT_EQ(found[q].best[3].score, expected[q].best[3].score);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(RelevanceOfDocuments, IsTheScoreOfACrossEncoder) {
  // A regression: unlike a pipeline, CrossEncoder takes the sigmoid.
  const CopiedModel copy("one-label");
  const Model model = Model::load(copy.path());
  ASSERT_EQ(model.info().scores, Scores::raw);
  const auto texts = random_texts(30, 9);
  std::vector<Input> pairs;
  for (const std::string& text : texts) pairs.push_back({"two dogs", text});
  const Output logits = model.run(pairs);
  const std::vector<Relevance> found = relevance(model, "two dogs", texts);
  for (int64_t i = 0; i < logits.rows; ++i) {
    EXPECT_NEAR(found[i].score, 1 / (1 + std::exp(-static_cast<double>(logits.row(i)[0]))), 1e-6);
    EXPECT_EQ(found[i].tokens, std::ssize(model.tokenize({&pairs[i], 1})[0].ids));
  }
  copy.change("config.json",
              {{"sentence_transformers", {{"activation_fn", "torch.nn.modules.linear.Identity"}}}});
  EXPECT_EQ(relevance(Model::load(copy.path()), "two dogs", texts)[7].score, logits.row(7)[0]);
  EXPECT_THAT(error_of([] { relevance(load_golden("plain"), "a", {}); }),
              HasSubstr("plain/config.json: id2label: found 3 labels of "
                        "BertForSequenceClassification, expected one to rank by"));
}

struct ZeroShotCase {
  std::vector<std::string> labels;
  int entailment, contradiction;
};

void expect_entailment(const ZeroShotCase& of_model) {
  const auto& [names, entailment, contradiction] = of_model;
  const CopiedModel copy("plain");
  nlohmann::json by_id;
  for (size_t i = 0; i < names.size(); ++i) by_id[std::to_string(i)] = names[i];
  copy.change("config.json", {{"id2label", by_id}, {"label2id", nullptr}});
  const Model model = Model::load(copy.path());
  const std::vector<std::string> labels = {"dogs", "the piano", "a red car"};
  const auto texts = random_texts(4, 10);
  for (const bool multi : {false, true}) {
    const auto found =
        zero_shot(model, texts, labels, {.hypothesis = "is it {}?", .multi_label = multi});
    ASSERT_EQ(found.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      std::vector<double> want;
      double sum = 0;
      for (const std::string& label : labels) {
        const std::vector<Input> pair = {{texts[i], "is it " + label + "?"}};
        const Output logits = model.run(pair);
        const double yes = logits.values[entailment], no = logits.values[contradiction];
        want.push_back(multi ? std::exp(yes) / (std::exp(yes) + std::exp(no)) : std::exp(yes));
        sum += want.back();
      }
      for (size_t j = 0; j < labels.size(); ++j) {
        EXPECT_NEAR(found[i].probabilities[j], multi ? want[j] : want[j] / sum, 1e-6);
      }
      EXPECT_EQ(found[i].best[0], std::ranges::max_element(want) - want.begin());
      EXPECT_EQ(found[i].best.size(), labels.size());
    }
  }
}

TEST(ZeroShotLabels, AreScoredByEntailment) {
  expect_entailment({{"contradiction", "neutral", "ENTAILMENT"}, 2, 0});
  expect_entailment({{"entailment", "neutral", "no"}, 0, 2});
  expect_entailment({{"no", "entails", "neutral"}, 1, 0});
}

TEST(ZeroShotErrors, NameTheTextOrTheLabel) {
  const CopiedModel copy("plain");
  copy.change("config.json", {{"id2label", {{"0", "no"}, {"1", "?"}, {"2", "entailment"}}},
                              {"label2id", nullptr}});
  const Model model = Model::load(copy.path());
  const std::vector<std::string> good = {"a man"}, bad = {"a man", "\xff"};
  EXPECT_THAT(error_of([&] { zero_shot(model, bad, good); }), HasSubstr("input 1: "));
  EXPECT_THAT(error_of([&] { zero_shot(model, good, bad); }), HasSubstr("label 1: "));
  EXPECT_THAT(error_of([&] { zero_shot(model, good, {}); }), HasSubstr("there are no labels"));
  EXPECT_THAT(error_of([&] { zero_shot(model, good, good, {.hypothesis = "{} \xff"}); }),
              HasSubstr("the hypothesis: "));
  for (const char* form : {"", "no", "{} and {}", "{{x}} is {}", "{} is {{x}}", "{}}"}) {
    EXPECT_THAT(error_of([&] { zero_shot(model, good, good, {.hypothesis = form}); }),
                HasSubstr("expected {} once"));
  }
  for (const char* name : {"plain", "st-mean", "bert-mlm", "one-label"}) {
    EXPECT_THAT(error_of([&] { zero_shot(load_golden(name), good, good); }),
                HasSubstr(std::string(name) + "/config.json: id2label: found "));
  }
  const CopiedModel alone("one-label");
  alone.change("config.json", {{"id2label", {{"0", "entailment"}}}, {"label2id", nullptr}});
  EXPECT_THAT(error_of([&] { zero_shot(Model::load(alone.path()), good, good); }),
              HasSubstr("found entailment in BertFor"));
  EXPECT_TRUE(zero_shot(model, {}, good).empty());
}

TEST(ZeroShotErrors, OnlyTheTextIsTruncated) {
  const CopiedModel copy("plain");
  copy.change("config.json", {{"id2label", {{"0", "no"}, {"1", "?"}, {"2", "entailment"}}},
                              {"label2id", nullptr}});
  Options options;
  options.max_length = 16;
  std::string text, first, last;
  for (int i = 0; i < 50; ++i) text += i < 25 ? "a " : "man ";
  for (int i = 0; i < 12; ++i) {
    first += "a ";
    last += "man ";
  }
  for (const char* side : {"right", "left"}) {
    copy.change("tokenizer_config.json", {{"truncation_side", side}});
    const Model model = Model::load(copy.path(), options);
    const std::vector<std::string> texts = {text, first, last}, labels = {"dogs"}, longer = {text};
    const auto found = zero_shot(model, texts, labels, {.hypothesis = "{}"});
    EXPECT_EQ(found[0].tokens, 16);
    EXPECT_TRUE(found[0].truncated);
    EXPECT_NE(found[1].probabilities, found[2].probabilities);
    const ZeroShot& kept = side == std::string_view("left") ? found[2] : found[1];
    EXPECT_EQ(found[0].probabilities, kept.probabilities) << side;
    EXPECT_THAT(error_of([&] { zero_shot(model, texts, longer); }), HasSubstr("leaves no room"));
    for (const Encoding& each : models::encode_here(model, texts, labels, "{}")) {
      EXPECT_LE(each.ids.capacity(), 16u) << "memory for what was cut off";
    }
  }
}

}  // namespace
}  // namespace bert

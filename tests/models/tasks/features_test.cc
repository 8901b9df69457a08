// SPDX-License-Identifier: Apache-2.0
//
// Hidden states and attention of any layer; and, for every family with every head, the same bits in
// any batch.
#include <iterator>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/directory/inspection.h"
#include "tests/models/copied_model.h"

namespace bert {
namespace {

using test::error_of;
using test::load_golden;
using test::same_bits;
using testing::HasSubstr;

std::vector<std::string> names_in(const std::string& names) {
  std::istringstream in(names);
  return {std::istream_iterator<std::string>(in), {}};
}

const std::vector<std::string> kNewerModels = names_in(R"(
    nomic nomic-mlm nomic5-tokens gte gte-qa gte-separate gte5-mlm nomic-moe jina jina-choice
    jina-code deberta-conv deberta-c2p deberta-p2c eurobert-mlm eurobert-tokens
    eurobert-classification eurobert-newer eurobert-mean gemma3 gemma3-newer embedding-gemma2
    jina-roberta-mlm jina-reranker jina-v3 jina-v3-tokens ultrabert-mlm ultrabert-qa
    ultrabert-classification ultrabert-published ultrabert-newer ernie ernie-pretraining deberta1 deberta1-qa
    deberta1-far mt5 t5 llama qwen2 qwen3 qwen3-tokens esm-mlm esmc-mlm esmc-tokens
    esm1b esm-classification neobert-mlm bart bart-mlm clip privacy-filter privacy-filter-tokens
    rembert rembert-mlm chinese-clip
    gemma3-causal mistral-window qwen2-window voyage jina-v5-small mobilebert mobilebert-mlm mobilebert-pretraining)");

// Every family with every head, and what only some have. Listed here and not read from the index,
// which does not exist yet when the tests are discovered.
std::vector<std::string> all_models() {
  std::vector<std::string> names = {"encoder",
                                    "plain",
                                    "next-sentence",
                                    "pretraining",
                                    "electra-pretraining",
                                    "electra-one-width",
                                    "albert-pretraining",
                                    "albert-groups",
                                    "xlm-roberta-untied",
                                    "relative-key",
                                    "relative-key-query",
                                    "distilbert-sinusoidal",
                                    "mpnet-sentence",
                                    "st-cls",
                                    "st-max",
                                    "megatron",
                                    "megatron-pretraining",
                                    "roberta-prelayernorm"};
  for (const std::string family :
       {"bert", "distilbert", "electra", "albert", "xlm-roberta", "camembert", "mpnet"}) {
    for (const char* head : {"mlm", "tokens", "qa", "choice"}) names.push_back(family + "-" + head);
    if (family == "bert") continue;
    names.push_back(family + "-classification");
    names.push_back(family);
  }
  for (const std::string family : {"modernbert", "deberta"}) {
    for (const char* head : {"", "-mlm", "-tokens", "-qa", "-choice", "-classification"}) {
      names.push_back(family + head);
    }
  }
  names.insert(names.end(), std::begin(kNewerModels), std::end(kNewerModels));
  return names;
}

// Of awkward lengths, long and short in turn.
std::vector<Encoding> mixed_inputs(const Model& model) {
  const bool one_segment = models::segments_of(model) == 1;
  std::mt19937 generator(5);
  std::vector<Encoding> inputs;
  for (const int length : {17, 98, 2, 33, 1, 64, 65, 5, 31}) {
    inputs.push_back(test::random_encoding(length, model.info().vocabulary, generator));
    if (one_segment) std::ranges::fill(inputs.back().type_ids, 0);
  }
  return inputs;
}

using Answers = std::map<std::string, std::vector<float>>;  // by call

// Everything that the model can say about each input.
std::vector<Answers> all_answers(const Model& model, std::span<const Encoding> inputs) {
  const int last = model.info().layers;
  const bool convolves = model.info().architecture.starts_with("Lfm2");  // in its first layer
  const std::vector<int> states = {0, 1, -1}, attended = {convolves ? 1 : 0, last - 1};
  std::vector<Answers> answers(inputs.size());
  const auto rows = [&](const char* name, const Output& output) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto row = output.row(static_cast<int64_t>(i));
      answers[i][name].assign(row.begin(), row.end());
    }
  };
  if (model.info().has_logits) rows("run", model.run(inputs));
  rows("embed", model.embed(inputs));
  std::vector<Output> tokens;
  if (model.info().has_token_logits) tokens = model.run_tokens(inputs);
  const std::vector<Hidden> hidden = model.hidden(inputs, states), plain = model.hidden(inputs);
  const std::vector<Attention> attention = model.attention(inputs, attended);
  for (size_t i = 0; i < inputs.size(); ++i) {
    Answers& one = answers[i];
    if (!tokens.empty()) one["run_tokens"] = tokens[i].values;
    one["hidden"] = hidden[i].states.values;
    one["hidden without layers"] = plain[i].states.values;
    one["pooler"] = hidden[i].pooler;
    for (size_t j = 0; j < states.size(); ++j) {
      one["hidden of " + std::to_string(states[j])] = hidden[i].layers[j].values;
    }
    for (size_t j = 0; j < attended.size(); ++j) {
      one["attention of " + std::to_string(attended[j])] = attention[i].layers[j].values;
    }
  }
  return answers;
}

void expect_same(const Answers& got, const Answers& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, values] : want) {
    EXPECT_FALSE(values.empty() && name != "pooler") << name;
    EXPECT_TRUE(same_bits(got.at(name), values)) << name << ", " << what;
  }
}

void check_invariance(const std::string& name, Precision precision) {
  const Model one = load_golden(name, 1, precision), two = load_golden(name, 2, precision);
  Options options;
  options.precision = precision;
  options.workers = 2;
  options.batch_tokens = 70;
  const Model small = Model::load(test::golden(name), options);
  const std::vector<Encoding> inputs = mixed_inputs(one);
  const std::vector<Answers> want = all_answers(one, inputs), by_two = all_answers(two, inputs),
                             in_parts = all_answers(small, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "input of " << inputs[i].ids.size() << " tokens");
    const std::span<const Encoding> alone(&inputs[i], 1);
    EXPECT_TRUE(same_bits(want[i].at("hidden"), want[i].at("hidden without layers")));
    EXPECT_TRUE(same_bits(want[i].at("hidden"), want[i].at("hidden of -1")));
    expect_same(by_two[i], want[i], "two threads");
    expect_same(in_parts[i], want[i], "small batches");
    expect_same(all_answers(one, alone)[0], want[i], "alone");
    expect_same(all_answers(two, alone)[0], want[i], "alone on two threads");
  }
}

class EveryModel : public testing::TestWithParam<std::string> {};

TEST_P(EveryModel, GivesTheSameBitsInAnyBatch) { check_invariance(GetParam(), Precision::f32); }

// run_traced() is what the golden tests compare with float64.
TEST_P(EveryModel, HiddenStatesAreTheTracedStages) {
  const Model model = load_golden(GetParam(), 2);
  const std::vector<Encoding> inputs = mixed_inputs(model);
  const int last = model.info().layers;
  std::vector<int> layers = {last, 0, 0};
  for (int layer = -last - 1; layer <= last; ++layer) layers.push_back(layer);
  const std::vector<Hidden> hidden = model.hidden(inputs, layers);
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::map<std::string, Output> stages = test::traced(model, inputs[i]);
    ASSERT_EQ(hidden[i].layers.size(), layers.size());
    for (size_t j = 0; j < layers.size(); ++j) {
      const int layer = layers[j] < 0 ? layers[j] + last + 1 : layers[j];
      const std::string stage = layer ? "layer." + std::to_string(layer - 1) : "embeddings";
      ASSERT_TRUE(stages.contains(stage));
      EXPECT_EQ(hidden[i].layers[j].rows, std::ssize(inputs[i].ids));
      if (layer == last) {
        EXPECT_EQ(hidden[i].layers[j].columns, model.info().hidden);
      }
      EXPECT_TRUE(same_bits(hidden[i].layers[j].values, stages.at(stage).values)) << layers[j];
    }
    EXPECT_TRUE(same_bits(hidden[i].pooler, stages["pooler"].values));
    EXPECT_EQ(hidden[i].pooler.empty(), !model.info().has_pooler);
  }
  const std::string range =
      "expected one from " + std::to_string(-last - 1) + " to " + std::to_string(last);
  for (const int layer : {last + 1, -last - 2, 1 << 30}) {
    const std::vector<int> wrong = {0, layer};
    EXPECT_THAT(error_of([&] { model.hidden(inputs, wrong); }),
                HasSubstr("layer " + std::to_string(layer) + " of the hidden states, " + range));
  }
}

TEST_P(EveryModel, AttentionIsAProbabilityOfEachTokenForEachHead) {
  const Model model = load_golden(GetParam(), 2);
  const std::vector<Encoding> inputs = mixed_inputs(model);
  const int last = model.info().layers, heads = model.info().heads;
  std::vector<int> layers = {last - 1, 0, 0};
  for (int layer = -last; layer < last; ++layer) layers.push_back(layer);
  const std::vector<Attention> attention = model.attention(inputs, layers);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t length = std::ssize(inputs[i].ids);
    ASSERT_EQ(attention[i].layers.size(), layers.size());
    for (size_t j = 0; j < layers.size(); ++j) {
      const Output& one = attention[i].layers[j];
      ASSERT_EQ(one.rows, heads * length);
      ASSERT_EQ(one.columns, length);
      for (int64_t row = 0; row < one.rows; ++row) {
        double sum = 0;
        for (const float p : one.row(row)) {
          ASSERT_TRUE(p >= 0 && p <= 1);
          sum += p;
        }
        // The rest is the sink's.
        if (GetParam().starts_with("privacy-filter")) sum = sum > 0.01 && sum < 1 ? 1 : sum;
        ASSERT_NEAR(sum, 1, 1e-5) << "layer " << layers[j] << ", row " << row;
      }
      const auto same = static_cast<size_t>(3 + last + (layers[j] + last) % last);
      EXPECT_TRUE(same_bits(one.values, attention[i].layers[same].values)) << layers[j];
    }
  }
  const std::string range =
      "expected one from " + std::to_string(-last) + " to " + std::to_string(last - 1);
  for (const int layer : {last, -last - 1}) {
    const std::vector<int> wrong = {0, layer};
    EXPECT_THAT(error_of([&] { model.attention(inputs, wrong); }),
                HasSubstr("layer " + std::to_string(layer) + " of the attention, " + range));
  }
}

// y = W x + b of the rows x, by the names in the checkpoint.
std::vector<double> projected(const models::WeightFile& file, const std::string& name,
                              const Output& x) {
  const models::StoredTensor &weight = *file.find(name + ".weight"),
                             &bias = *file.find(name + ".bias");
  std::vector<double> y;
  for (int64_t t = 0; t < x.rows; ++t) {
    for (int64_t i = 0; i < x.columns; ++i) {
      double sum = bias.at(i);
      for (int64_t j = 0; j < x.columns; ++j) sum += weight.at(i * x.columns + j) * x.row(t)[j];
      y.push_back(sum);
    }
  }
  return y;
}

// Vaswani et al. 2017, section 3.2, computed from the layer's input: layers, heads, or rows and
// columns must not be mixed up.
TEST(Attention, IsThatOfTheLayersOwnQueriesAndKeys) {
  const Model model = load_golden("plain");
  const models::WeightFile file = models::read_safetensors(test::golden("plain/model.safetensors"));
  std::mt19937 generator(3);
  const std::vector<Encoding> inputs = {test::random_encoding(5, 150, generator),
                                        test::random_encoding(13, 150, generator)};
  const std::vector<int> layers = {0, 1};
  const std::vector<Hidden> hidden = model.hidden(inputs, layers);
  const std::vector<Attention> attention = model.attention(inputs, layers);
  const int64_t h = model.info().hidden, d = h / model.info().heads;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const int layer : layers) {
      const Output& x = hidden[i].layers[layer];
      const std::string name = "bert.encoder.layer." + std::to_string(layer) + ".attention.self.";
      const std::vector<double> q = projected(file, name + "query", x),
                                k = projected(file, name + "key", x);
      const Output& got = attention[i].layers[layer];
      for (int64_t row = 0; row < got.rows; ++row) {
        const int64_t head = row / x.rows, t = row % x.rows;
        std::vector<float> scores(x.rows);
        for (int64_t u = 0; u < x.rows; ++u) {
          double sum = 0;
          for (int64_t c = head * d; c < head * d + d; ++c) sum += q[t * h + c] * k[u * h + c];
          scores[u] = static_cast<float>(sum / std::sqrt(static_cast<double>(d)));
        }
        const std::vector<double> want = test::softmax(scores);
        for (int64_t u = 0; u < x.rows; ++u) {
          ASSERT_NEAR(got.row(row)[u], want[u], 1e-5) << layer << ", " << row << ", " << u;
        }
      }
    }
  }
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Families, EveryModel, testing::ValuesIn(all_models()), test_name);

// The inputs or the head of these are like those of others.
const std::vector<std::string> kRest = names_in(R"(
    tinybert bf16 wide-heads relu one-label multi-label no-pooler st-mean one-segment orderless
    texts wide jina-wide bert-mlm-stored distilbert-stored distilbert-texts xlm-roberta-sentence data2vec
    longformer xlm-roberta-xl modernbert-newer modernbert-texts nomic-classification nomic-moe-all
    gte-classification gte-mlm gte-tokens gte-choice jina-mlm jina-classification jina-tokens
    jina-qa jina-reglu jina-code-tokens eurobert deberta1-classification deberta1-mlm
    deberta1-tokens jina-roberta jina-roberta-classification jina-v3-qa ultrabert
    ultrabert-tokens bart-qa bart-classification clip-projection clip-text esm esm-tokens esm1v neobert neobert-classification
    t5-tokens llama-tokens mistral-classification qwen3-classification gemma3-linear ministral3 llama-without-mask
    llama-without-mask-classification perplexity jina-v5-nano lfm2 lfm2-without-mask lfm2-without-mask-mlm
    lfm2-bidirectional-tokens lfm2-bidirectional-classification qwen3-score splade modernbert-splade bge-m3
    colbert xlm-roberta-colbert relative-key-colbert mpnet-colbert jina-colbert modernbert-colbert jina-roberta-colbert
    modernbert-long jina-long deberta-long relative-key-long
    mobilebert-classification mobilebert-tokens mobilebert-qa mobilebert-choice
    rembert-classification rembert-tokens rembert-qa rembert-choice)");

std::vector<std::string> every_model() {
  std::vector<std::string> names = all_models();
  names.insert(names.end(), kRest.begin(), kRest.end());
  return names;
}

TEST(AllModels, AreListedHere) {
  EXPECT_THAT(test::golden_names(), testing::UnorderedElementsAreArray(every_model()));
}

class EachModel : public testing::TestWithParam<std::string> {};

// Those of several inputs in one batch, where only some rows of the last layer are computed.
TEST_P(EachModel, AnswersAreTheTracedStages) {
  const Model model = load_golden(GetParam(), 2);
  const Info& info = model.info();
  std::vector<Encoding> inputs =
      test::reference_inputs(models::read_safetensors(test::golden(GetParam()) + ".safetensors"));
  inputs.push_back(inputs.front());  // some have only one
  Output logits, embeddings;
  std::vector<Output> tokens;
  if (info.has_logits) logits = model.run(inputs);
  if (info.embedding > 0) embeddings = model.embed(inputs);
  if (info.has_token_logits) tokens = model.run_tokens(inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::map<std::string, Output> stages = test::traced(model, inputs[i]);
    const auto row = static_cast<int64_t>(i);
    if (info.has_logits) {
      const char* const stage = info.has_token_logits ? "next_sentence" : "logits";
      EXPECT_TRUE(same_bits(logits.row(row), stages.at(stage).values)) << i;
    }
    if (info.has_token_logits) {
      EXPECT_TRUE(same_bits(tokens[i].values, stages.at("logits").values)) << i;
    }
    if (stages.contains("embedding")) {
      EXPECT_TRUE(same_bits(embeddings.row(row), stages.at("embedding").values)) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, EachModel, testing::ValuesIn(every_model()), test_name);

class FewModels : public testing::TestWithParam<std::string> {};

TEST_P(FewModels, GiveTheSameBitsInAnyBatchInInt8) {
  check_invariance(GetParam(), Precision::int8);
}
TEST_P(FewModels, GiveTheSameBitsInAnyBatchInBf16) {
  check_invariance(GetParam(), Precision::bf16);
}

INSTANTIATE_TEST_SUITE_P(Families, FewModels,
                         testing::Values("bert-tokens", "distilbert-classification", "electra-mlm",
                                         "albert-groups", "xlm-roberta-qa", "mpnet-choice",
                                         "relative-key", "modernbert-choice", "gte", "jina-code",
                                         "eurobert-classification", "eurobert-newer", "gemma3",
                                         "embedding-gemma2", "deberta-conv", "jina-reranker",
                                         "ultrabert-mlm", "deberta1-far", "megatron", "nomic-moe",
                                         "t5", "qwen3", "esm-mlm", "neobert-mlm", "bart-mlm",
                                         "clip", "wide", "privacy-filter", "gemma3-causal", "lfm2",
                                         "lfm2-without-mask", "mobilebert", "rembert-mlm"),
                         test_name);

TEST(Features, OfNothingAreNothing) {
  const Model model = load_golden("bert-mlm");
  const std::vector<int> layers = {0, 1};
  EXPECT_TRUE(model.hidden(std::span<const Encoding>(), layers).empty());
  EXPECT_TRUE(model.attention(std::span<const Encoding>(), layers).empty());
  const std::vector<Input> input = {{"a"}};
  EXPECT_TRUE(model.attention(input, {})[0].layers.empty());
  EXPECT_TRUE(model.hidden(input)[0].layers.empty());
  EXPECT_THAT(error_of([&] {
                model.attention(std::vector<Input>{{"a"}, {"\xff"}}, layers);
              }),
              HasSubstr("input 1"));
}

}  // namespace
}  // namespace bert

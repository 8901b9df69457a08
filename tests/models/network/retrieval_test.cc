// SPDX-License-Identifier: Apache-2.0
//
// Sparse vectors and vectors of tokens beyond their values, which the goldens compare: batches,
// tokens that nobody attends to, queries and documents, and what is refused.
#include <cctype>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/tasks/ranking/bert_ranking.h"
#include "tests/models/copied_model.h"
#include "tests/tokenizer/test_directory.h"

namespace bert {
namespace {

using test::CopiedModel;
using test::error_of;
using test::load_error;
using test::load_golden;
using test::same_bits;
using testing::HasSubstr;

// Of lengths up to 60, every other one with unattended tokens.
std::vector<Encoding> some_inputs(const Model& model, bool fill) {
  std::mt19937 generator(5);
  std::vector<Encoding> inputs;
  for (int length = 3; length < 60; length += 4) {
    inputs.push_back(test::random_encoding(length, model.info().vocabulary, generator));
    std::ranges::fill(inputs.back().type_ids, 0);  // not every model has two
    if (fill && length % 8 == 3) inputs.back().unattended = 1 + length / 3;
  }
  return inputs;
}

TEST(Retrieval, SparseVectorsAreTheSameBitsInAnyBatch) {
  for (const char* name : {"splade", "modernbert-splade", "bge-m3"}) {
    for (const Precision precision : {Precision::f32, Precision::int8}) {
      SCOPED_TRACE(name);
      const Model one = load_golden(name, 1, precision), two = load_golden(name, 2, precision);
      const std::vector<Encoding> inputs = some_inputs(one, false);
      const std::vector<SparseVector> together = two.sparse(inputs);
      for (size_t i = 0; i < inputs.size(); ++i) {
        const SparseVector alone = one.sparse({&inputs[i], 1})[0];
        ASSERT_EQ(alone.ids, together[i].ids) << i;
        ASSERT_TRUE(same_bits(alone.weights, together[i].weights)) << i;
        ASSERT_TRUE(std::ranges::is_sorted(alone.ids));
        ASSERT_TRUE(std::ranges::all_of(alone.weights, [](float w) { return w > 0; }));
      }
    }
  }
}

// What the goldens compare with float64.
TEST(Retrieval, SparseVectorsAreTheTracedWeightsThatAreNotZero) {
  for (const char* name : {"splade", "modernbert-splade", "bge-m3"}) {
    SCOPED_TRACE(name);
    const Model model = load_golden(name);
    for (const Encoding& input : some_inputs(model, false)) {
      const std::vector<float> weights = test::traced(model, input).at("sparse").values;
      SparseVector expected;
      for (size_t id = 0; id < weights.size(); ++id) {
        if (weights[id] == 0) continue;
        expected.ids.push_back(static_cast<int32_t>(id));
        expected.weights.push_back(weights[id]);
      }
      const SparseVector found = model.sparse({&input, 1})[0];
      EXPECT_FALSE(found.ids.empty());
      EXPECT_EQ(found.ids, expected.ids);
      EXPECT_TRUE(same_bits(found.weights, expected.weights));
    }
  }
}

// But for the first token's of BGE-M3, and those of a ColBERT document's punctuation.
TEST(Retrieval, VectorsOfTokensAreTheTracedRows) {
  for (const char* name : {"colbert", "bge-m3"}) {
    SCOPED_TRACE(name);
    const Model model = load_golden(name);
    const Tokenizer tokenizer = model.tokenizer();
    const bool skips_first = std::string_view(name) == "bge-m3";
    std::vector<Encoding> inputs = some_inputs(model, false);
    inputs.push_back(model.tokenize(std::vector<Input>{{"a man, a plan. (no!)"}})[0]);
    for (const Role role : {Role::query, Role::document}) {
      for (const Encoding& input : inputs) {
        const Output rows = test::traced(model, input).at("vectors");
        std::vector<float> expected;
        for (int64_t t = skips_first ? 1 : 0; t < rows.rows; ++t) {
          const std::string token = tokenizer.token(input.ids[static_cast<size_t>(t)]);
          const bool is_skipped = !skips_first && role == Role::document && token.size() == 1 &&
                                  std::ispunct(static_cast<unsigned char>(token[0])) != 0;
          if (!is_skipped) expected.insert(expected.end(), rows.row(t).begin(), rows.row(t).end());
        }
        const Output found = model.multi_vector({&input, 1}, role)[0];
        EXPECT_TRUE(same_bits(found.values, expected)) << input.ids.size();
      }
    }
  }
}

TEST(Retrieval, VectorsOfTokensAreTheSameBitsInAnyBatch) {
  for (const char* name :
       {"colbert", "xlm-roberta-colbert", "relative-key-colbert", "mpnet-colbert", "jina-colbert",
        "jina-roberta-colbert", "modernbert-colbert", "bge-m3"}) {
    for (const Precision precision : {Precision::f32, Precision::bf16, Precision::int8}) {
      SCOPED_TRACE(name);
      const Model one = load_golden(name, 1, precision), two = load_golden(name, 2, precision);
      const std::vector<Encoding> inputs = some_inputs(one, true);
      for (const Role role : {Role::query, Role::document}) {
        const std::vector<Output> together = two.multi_vector(inputs, role);
        for (size_t i = 0; i < inputs.size(); ++i) {
          const Output alone = one.multi_vector({&inputs[i], 1}, role)[0];
          ASSERT_TRUE(same_bits(alone.values, together[i].values)) << i;
        }
      }
    }
  }
}

TEST(Retrieval, UnattendedTokensChangeNothingForTheOthers) {
  for (const char* name :
       {"colbert", "relative-key-colbert", "mpnet-colbert", "jina-colbert", "modernbert-colbert"}) {
    SCOPED_TRACE(name);
    const Model model = load_golden(name);
    std::vector<Encoding> inputs = some_inputs(model, true);
    std::mt19937 generator(1);  // and one whose last token's window reaches just one attended token
    inputs.push_back(test::random_encoding(90, model.info().vocabulary, generator));
    inputs.back().unattended = 66;
    for (Encoding filled : inputs) {
      if (filled.unattended == 0) continue;
      Encoding alone = filled;
      const auto attended = alone.ids.size() - static_cast<size_t>(alone.unattended);
      alone.ids.resize(attended);
      alone.type_ids.resize(attended);
      alone.unattended = 0;
      const Output states = model.hidden({&alone, 1})[0].states;
      Output all = model.hidden({&filled, 1})[0].states;
      all.values.resize(states.values.size());
      EXPECT_TRUE(same_bits(states.values, all.values));
      filled.unattended = 0;
      const Output seen = model.hidden({&filled, 1})[0].states;
      EXPECT_FALSE(same_bits({seen.values.data(), states.values.size()}, states.values));
    }
  }
}

TEST(Retrieval, QueriesAreMarkedAndFilledUp) {
  const Model model = load_golden("colbert");
  const Input text{"a man, a plan"};
  const Encoding query = model.tokenize({&text, 1}, Role::query)[0];
  const Encoding document = model.tokenize({&text, 1}, Role::document)[0];
  const Encoding plain = model.tokenize({&text, 1})[0];
  ASSERT_EQ(query.ids.size(), 32u);
  ASSERT_EQ(document.ids.size(), plain.ids.size() + 1);
  EXPECT_EQ(query.unattended, 32 - static_cast<int>(document.ids.size()));
  EXPECT_EQ(document.unattended, 0);
  EXPECT_EQ(query.ids.back(), model.tokenizer().mask_id());
  EXPECT_EQ(model.tokenizer().token(query.ids[1]), "[CLS]");  // as artifact.metadata says
  EXPECT_EQ(model.tokenizer().token(document.ids[1]), "[SEP]");
  EXPECT_EQ(query.first.end - query.first.begin, plain.first.end - plain.first.begin);
  EXPECT_EQ(model.multi_vector({&text, 1}, Role::query)[0].rows, 32);
  EXPECT_THAT(error_of([&] {
                model.multi_vector({&text, 1}, static_cast<Role>(7));
              }),
              HasSubstr("unknown role 7"));
  EXPECT_THAT(error_of([&] {
                model.tokenize({&text, 1}, static_cast<Role>(7));
              }),
              HasSubstr("unknown role 7"));
  EXPECT_EQ(model.multi_vector({&text, 1}, Role::document)[0].rows,
            std::ssize(document.ids) - 1);  // the comma has none
  const CopiedModel punctuated("colbert");
  punctuated.change("artifact.metadata", {{"mask_punctuation", false}});
  EXPECT_EQ(Model::load(punctuated.path()).multi_vector({&text, 1}, Role::document)[0].rows,
            std::ssize(document.ids));
  const Input longer{std::string(400, 'a') + std::string(100, ' ') +
                     "a a a a a a a a a a a a a a "
                     "a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a"};
  EXPECT_EQ(model.tokenize({&longer, 1}, Role::query)[0].ids.size(), 32u);
  EXPECT_EQ(load_golden("colbert", 1, Precision::f32, 20)
                .tokenize({&longer, 1}, Role::document)[0]
                .ids.size(),
            20u);
}

TEST(Retrieval, MaxSimAndDot) {
  std::mt19937 generator(3);
  for (const int64_t width : {1, 15, 16, 33, 128}) {
    Output query(7, width), document(11, width);
    for (Output* each : {&query, &document}) {
      for (float& value : each->values) value = std::normal_distribution<float>()(generator);
    }
    double expected = 0;
    for (int64_t i = 0; i < query.rows; ++i) {
      double greatest = -1e9;
      for (int64_t j = 0; j < document.rows; ++j) {
        const auto a = query.row(i), b = document.row(j);
        greatest = std::max(greatest, std::inner_product(a.begin(), a.end(), b.begin(), 0.0));
      }
      expected += greatest;
    }
    EXPECT_NEAR(max_sim(query, document), expected, 1e-4);
  }
  EXPECT_EQ(max_sim(Output(0, 4), Output(2, 4)), 0);
  for (const int64_t row : {0, 1}) {
    Output document(2, 1);
    document.row(row)[0] = NAN;
    EXPECT_TRUE(std::isnan(max_sim(Output(1, 1), document)));
  }
  EXPECT_THAT(error_of([] { max_sim(Output(1, 4), Output(2, 5)); }), HasSubstr("the same size"));
  EXPECT_THAT(error_of([] { max_sim(Output(1, 4), Output(0, 4)); }), HasSubstr("at least one"));
  EXPECT_EQ(dot({{1, 4, 9}, {2, 3, 4}}, {{0, 4, 9, 10}, {7, 5, 0.5f, 7}}), 17);
  EXPECT_EQ(dot({}, {{1}, {2}}), 0);
  Output cut(2, 4);
  cut.values.pop_back();
  EXPECT_EQ(error_of([&] { max_sim(Output(1, 4), cut); }), "2 rows of 4 columns, but 7 values");
  EXPECT_EQ(error_of([] {
              dot({{1, 3}, {1}}, {{3}, {2}});
            }),
            "a sparse vector has 2 ids and 1 weights, expected as many");
}

TEST(Retrieval, InfoSaysWhatThereIs) {
  const auto info = [](const char* name) { return load_golden(name).info(); };
  EXPECT_TRUE(info("splade").has_sparse);
  EXPECT_EQ(info("splade").embedding, 0);
  EXPECT_EQ(info("splade").similarity, "dot");
  EXPECT_EQ(info("splade").task, Task::sparse);
  EXPECT_EQ(info("colbert").token_vector, 20);
  EXPECT_EQ(info("colbert").similarity, "maxsim");
  EXPECT_EQ(info("colbert").task, Task::multi_vector);
  EXPECT_TRUE(info("bge-m3").has_sparse);
  EXPECT_EQ(info("bge-m3").token_vector, 23);
  EXPECT_EQ(info("bge-m3").similarity, "cosine");
  EXPECT_EQ(info("bge-m3").task, Task::embed);
  EXPECT_EQ(info("plain").token_vector, 0);
  EXPECT_EQ(info("colbert").pooling, "");
}

TEST(Retrieval, OtherModelsAndInputsAreRefused) {
  const Model plain = load_golden("plain"), colbert = load_golden("colbert");
  const Input text{"a"};
  EXPECT_THAT(error_of([&] { plain.sparse({&text, 1}); }), HasSubstr("no sparse vectors"));
  EXPECT_THAT(error_of([&] {
                plain.multi_vector({&text, 1}, Role::query);
              }),
              HasSubstr("no vectors of tokens"));
  EXPECT_THAT(error_of([&] {
                plain.tokenize({&text, 1}, Role::query);
              }),
              HasSubstr("no vectors of tokens"));
  EXPECT_THAT(error_of([&] { colbert.embed({&text, 1}); }), HasSubstr("a vector for each token"));
  Encoding encoding = colbert.tokenize({&text, 1})[0];
  for (const int unattended : {-1, 3, 1 << 30}) {
    encoding.unattended = unattended;
    EXPECT_THAT(error_of([&] { colbert.hidden({&encoding, 1}); }), HasSubstr("unattended is"));
  }
  encoding.unattended = 1;
  const int layer = 0;
  EXPECT_THAT(error_of([&] {
                colbert.attention({&encoding, 1}, {&layer, 1});
              }),
              HasSubstr("unattended is 1"));
  const Model windowed = load_golden("modernbert-colbert");  // windows reach 66 to each side
  std::mt19937 generator(1);
  Encoding longer = test::random_encoding(90, windowed.info().vocabulary, generator);
  longer.unattended = 67;
  EXPECT_THAT(error_of([&] { windowed.hidden({&longer, 1}); }), HasSubstr("expected at most 66"));
}

// As in sentence-transformers, whose skiplist may name all tokens of a text.
TEST(Retrieval, ADocumentWithoutVectorsComesLast) {
  const CopiedModel copy("xlm-roberta-colbert");
  copy.change("3_Mask/config.json",
              {{"skiplist_words", {"<s>", "</s>", "\u2581", ".", "\u2581."}}});
  const Model model = Model::load(copy.path());
  const std::vector<std::string> texts = {"two dogs", ".", "a man on the beach"};
  ASSERT_EQ(model.multi_vector(std::vector<Input>{{"."}}, Role::document)[0].rows, 0);
  const std::vector<Relevance> found = relevance(model, "a dog", texts);
  EXPECT_EQ(found[1].score, -1e9f);
  EXPECT_GT(std::min(found[0].score, found[2].score), -100);
  Corpus corpus(model);
  corpus.add(texts);
  const std::vector<std::string> queries = {"a dog"};
  EXPECT_EQ(corpus.search(queries, 3)[0].best.back().index, 1);
}

TEST(Retrieval, SettingsThatAreNotUnderstoodAreRefused) {
  const CopiedModel splade("splade"), colbert("colbert"), modules("xlm-roberta-colbert");
  splade.change("1_SpladePooling/config.json", {{"pooling_strategy", "mean"}});
  EXPECT_THAT(load_error(splade), HasSubstr("pooling_strategy"));
  splade.change("1_SpladePooling/config.json",
                {{"pooling_strategy", "max"}, {"activation_function", "gelu"}});
  EXPECT_THAT(load_error(splade), HasSubstr("activation_function"));
  colbert.change("artifact.metadata", {{"query_token_id", "[nobody]"}});
  EXPECT_THAT(load_error(colbert), HasSubstr("query_token_id: \"[nobody]\" is not a token of"));
  colbert.change("artifact.metadata", {{"query_token_id", "[CLS]"}, {"query_maxlen", 1000}});
  EXPECT_THAT(load_error(colbert), HasSubstr("padded to 1000 tokens, but the model has 100"));
  colbert.change("artifact.metadata", {{"query_maxlen", 32}, {"similarity", "l2"}});
  EXPECT_THAT(load_error(colbert), HasSubstr("similarity"));
  modules.change("3_Mask/config.json", {{"keep_only_token_ids", {1}}});
  EXPECT_THAT(load_error(modules), HasSubstr("keep_only_token_ids"));
  modules.change("3_Mask/config.json", {{"keep_only_token_ids", nullptr}});
  modules.change("2_Dense/config.json", {{"module_input_name", "sentence_embedding"}});
  EXPECT_THAT(load_error(modules), HasSubstr("module_input_name"));
  modules.change("2_Dense/config.json",
                 {{"module_input_name", "token_embeddings"}, {"use_residual", false}});
  EXPECT_EQ(load_error(modules), "no error");
  modules.write("4_Normalize/config.json", "{}");  // by default, for the vector of the whole input
  EXPECT_THAT(load_error(modules), HasSubstr("\"module_input_name\" is missing"));
  modules.write_json("4_Normalize/config.json", {{"module_input_name", "token_embeddings"}});
  modules.change("1_Dense/config.json", {{"use_residual", false}});
  EXPECT_THAT(load_error(modules), HasSubstr("unexpected tensor 'residual.weight'"));
}

// Although its directories name no Normalize; as have those of a directory that does not say that
// it is a MultiVectorEncoder's, of which sentence-transformers makes one.
TEST(Retrieval, PyLatesVectorsHaveLengthOne) {
  const CopiedModel copy("modernbert-colbert");
  auto modules = nlohmann::json::parse(copy.read("modules.json"));
  modules.erase(modules.begin() + 3, modules.end());
  copy.write_json("modules.json", modules);
  const Input text{"a man"};
  const auto length = [&] {
    const Output rows = Model::load(copy.path()).multi_vector({&text, 1}, Role::document)[0];
    double squares = 0;
    for (const float x : rows.row(0)) squares += static_cast<double>(x) * x;
    return std::sqrt(squares);
  };
  EXPECT_NEAR(length(), 1, 1e-5);
  copy.write_json("config_sentence_transformers.json", {{"model_type", "MultiVectorEncoder"}});
  EXPECT_GT(std::abs(length() - 1), 0.01);
  copy.write_json("config_sentence_transformers.json",
                  {{"query_prefix", "[CLS] "}, {"document_prefix", "[SEP] "}});
  EXPECT_NEAR(length(), 1, 1e-5);
}

TEST(Retrieval, FilesOfBgeM3) {
  const CopiedModel copy("bge-m3");
  const Input text{"a man"};
  const Model whole = Model::load(copy.path());
  EXPECT_EQ(whole.multi_vector({&text, 1}, Role::document)[0].rows,
            std::ssize(whole.tokenize({&text, 1})[0].ids) - 1);  // the first has none
  const std::string sparse = copy.read("sparse_linear.pt"), dense = copy.read("colbert_linear.pt");
  copy.write("sparse_linear.pt", dense);
  EXPECT_THAT(load_error(copy), HasSubstr("'weight' has shape [23, 39], expected [1, 39]"));
  copy.write("sparse_linear.pt", "no archive");
  EXPECT_THAT(load_error(copy), HasSubstr("sparse_linear.pt"));
  copy.write("sparse_linear.pt", sparse);
  std::filesystem::remove(copy.path("colbert_linear.pt"));
  const Model model = Model::load(copy.path());
  EXPECT_TRUE(model.info().has_sparse);
  EXPECT_EQ(model.info().token_vector, 0);
}

// The first token of a text has no weight, whether or not it has a row in the model.
TEST(Retrieval, TokensThatBgeM3IgnoresMayBeOutsideItsVocabulary) {
  const CopiedModel copy("bge-m3");
  const std::vector<Encoding> inputs = {
      {.ids = {70, 90, 110}, .type_ids = {0, 0, 0}, .offsets = {}}};
  const SparseVector want = Model::load(copy.path()).sparse(inputs)[0];
  constexpr int kFirst = 300;
  auto definition = tokenizer::small_tokenizer({});
  for (int id = 5; id <= kFirst; ++id) {
    definition["added_tokens"].push_back(
        tokenizer::added_token("[" + std::to_string(id) + "]", id));
  }
  definition["post_processor"]["special_tokens"]["[CLS]"]["ids"] = {kFirst};
  definition["post_processor"]["special_tokens"]["[CLS]"]["tokens"] = {"[300]"};
  copy.write_json("tokenizer.json", definition);
  const Model model = Model::load(copy.path());
  ASSERT_EQ(model.tokenizer().encode({"a"}).ids[0], kFirst);
  const SparseVector found = model.sparse(inputs)[0];
  EXPECT_EQ(found.ids, want.ids);
  EXPECT_TRUE(same_bits(found.weights, want.weights));
}

}  // namespace
}  // namespace bert

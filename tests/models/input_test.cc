// SPDX-License-Identifier: Apache-2.0
//
// Inputs and options that are refused, and how inputs are grouped into batches.
#include <algorithm>
#include <memory>
#include <set>
#include <sstream>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include "engine/runtime.h"
#include "models/calls/workers.h"
#include "models/network/batch.h"
#include "models/network/build/example_batch.h"
#include "tests/models/copied_model.h"
#include "tests/tokenizer/test_directory.h"

namespace bert {
namespace {

using test::error_of;
using testing::HasSubstr;

TEST(Inputs, ThatDoNotFitAreRefusedByIndexAndField) {
  const Model model = Model::load(test::golden("plain"));
  const auto run = [&](Encoding encoding) {
    std::vector<Encoding> inputs(2, {{1, 2}, {0, 0}, {}, false});
    inputs.push_back(std::move(encoding));
    return error_of([&] { model.run(inputs); });
  };
  EXPECT_THAT(run({}), HasSubstr("input 2: no tokens"));
  EXPECT_THAT(run({{1, 2, 3}, {0, 0}, {}, false}), HasSubstr("3 ids, but 2 type_ids"));
  EXPECT_THAT(run({{1, 999999}, {0, 0}, {}, false}), HasSubstr("ids[1] is 999999"));
  EXPECT_THAT(run({{-1}, {0}, {}, false}), HasSubstr("ids[0] is -1"));
  EXPECT_THAT(run({{1}, {2}, {}, false}), HasSubstr("type_ids[0] is 2"));
  EXPECT_THAT(run({{1, 1}, {0, -1}, {}, false}), HasSubstr("type_ids[1] is -1"));
  const std::vector<int32_t> long_ids(513, 1);
  EXPECT_THAT(run({long_ids, std::vector<int32_t>(513), {}, false}), HasSubstr("513 tokens"));
  EXPECT_THAT(error_of([&] {
                model.tokenize(std::vector<Input>{{"ok"}, {"bad \xff"}});
              }),
              HasSubstr("input 1"));
}

TEST(Inputs, NoneGiveNothing) {
  const Model model = Model::load(test::golden("plain"));
  const Output logits = model.run(std::span<const Encoding>());
  EXPECT_EQ(logits.rows, 0);
  EXPECT_EQ(logits.columns, 3);
  EXPECT_TRUE(model.hidden(std::span<const Encoding>()).empty());
}

// Ids are all that a model needs; what is wrong with the tokenizer is said where it is needed.
TEST(Inputs, AreIdsWhereThereIsNoTokenizerForText) {
  const std::vector<Encoding> ids = {{{1, 2, 3}, {0, 0, 0}, {}, false}};
  const Output expected = Model::load(test::golden("plain")).run(ids);
  for (const bool none : {true, false}) {
    const test::CopiedModel copy("plain");
    std::filesystem::remove(copy.path("vocab.txt"));
    if (!none) {
      auto definition = tokenizer::small_tokenizer({"a", "dog"});
      definition["pre_tokenizer"]["type"] = "UnicodeScripts";
      copy.write_json("tokenizer.json", definition);
    }
    const char* const reason =
        none ? "found none of tokenizer.json" : "pre_tokenizer.type: found \"UnicodeScripts\"";
    const Model model = Model::load(copy.path());
    EXPECT_EQ(model.run(ids).values, expected.values);
    EXPECT_THAT(error_of([&] { model.run(std::vector<Input>{{"a dog"}}); }), HasSubstr(reason));
    EXPECT_THAT(model.info().notes, testing::Contains(HasSubstr(reason)));
    EXPECT_THAT(error_of([&] { Tokenizer::load(copy.path()); }), HasSubstr(reason));
    Options options;
    options.precision = Precision::int8;  // which is calibrated on texts otherwise
    EXPECT_EQ(Model::load(copy.path(), options).run(ids).rows, 1);
  }
}

TEST(Loading, TellsHowFarItIs) {
  for (const Precision precision : {Precision::f32, Precision::int8}) {
    std::vector<std::pair<int, int>> seen;
    Options options;
    options.precision = precision;
    options.progress = [&](int loaded, int layers) { seen.emplace_back(loaded, layers); };
    Model::load(test::golden("plain"), options);
    EXPECT_EQ(seen, (std::vector<std::pair<int, int>>{{1, 2}, {2, 2}}));
    options.progress = [](int, int) { throw std::runtime_error("enough"); };
    EXPECT_EQ(error_of([&] { Model::load(test::golden("plain"), options); }), "enough");
    options.progress = [](int, int) { throw 7; };
    EXPECT_THROW(Model::load(test::golden("plain"), options), int);
  }
}

TEST(Inputs, AreEncodedInOrderOnAnyNumberOfThreads) {
  const Tokenizer tokenizer = Tokenizer::load(test::golden("plain"), 30);
  std::vector<Input> inputs;
  for (int i = 0; i < 3000; ++i) {
    inputs.push_back(
        {std::string(i % 90, 'a') + " dog", i % 2 ? std::optional("a man") : std::nullopt});
  }
  for (const int threads : {0, 1, 3}) {
    const std::vector<Encoding> got = tokenizer.encode(inputs, threads);
    ASSERT_EQ(got.size(), inputs.size());
    for (size_t i = 0; i < inputs.size(); i += 7) {
      const Encoding alone = tokenizer.encode(inputs[i]);
      ASSERT_EQ(got[i].ids, alone.ids) << i;
      ASSERT_EQ(got[i].type_ids, alone.type_ids) << i;
      ASSERT_EQ(got[i].offsets, alone.offsets) << i;
      ASSERT_EQ(got[i].truncated, alone.truncated) << i;
    }
  }
  inputs[7].second = "\xff";
  EXPECT_THAT(error_of([&] { tokenizer.encode(inputs, 3); }), HasSubstr("input 7: "));
  EXPECT_THAT(error_of([&] { tokenizer.encode(inputs, -1); }), HasSubstr("threads is -1"));
}

TEST(Options, ThatMakeNoSenseAreRefused) {
  const auto load = [](auto change) {
    Options options;
    change(options);
    return error_of([&] { Model::load(test::golden("plain"), options); });
  };
  EXPECT_THAT(load([](Options& o) { o.workers = 64, o.threads = 32; }),
              HasSubstr("workers times threads is 2048, expected from 0 to 1024"));
  EXPECT_THAT(load([](Options& o) { o.threads = -1; }), HasSubstr("threads"));
  EXPECT_THAT(load([](Options& o) { o.workers = -1; }), HasSubstr("workers"));
  EXPECT_THAT(load([](Options& o) { o.batch_tokens = 0; }), HasSubstr("batch_tokens"));
  EXPECT_THAT(load([](Options& o) { o.max_length = -5; }), HasSubstr("max_length"));
  EXPECT_THAT(load([](Options& o) { o.max_length = 513; }), HasSubstr("512 positions"));
  EXPECT_THAT(load([](Options& o) { o.precision = static_cast<Precision>(7); }),
              HasSubstr("unknown precision 7"));
  EXPECT_THAT(load([](Options& o) { o.adapter = std::string("a\0b", 3); }),
              HasSubstr("adapter is 'a\\x00b', expected no NUL"));
  const std::string name = test::golden("plain") + std::string("\0b", 2);
  for (const auto& refused :
       {error_of([&] { Model::load(name); }), error_of([&] { Tokenizer::load(name); }),
        error_of([&] { find_model(name); })}) {
    EXPECT_THAT(refused, HasSubstr("plain\\x00b' has a NUL, expected a directory"));
  }
  EXPECT_THAT(error_of([] { Model::load("/nonexistent/model"); }),
              HasSubstr("/nonexistent/model: not a directory"));
  EXPECT_THAT(error_of([] { find_model(std::string(5000, 'a')); }),
              HasSubstr("cannot be read: File name too long"));
}

TEST(Loading, LogsWhatItDecided) {
  std::ostringstream text;
  spdlog::logger& log = engine::log();
  const auto level = log.level();
  log.sinks().push_back(std::make_shared<spdlog::sinks::ostream_sink_mt>(text));
  log.set_level(spdlog::level::info);
  Options options;
  options.max_length = 9;
  options.precision = Precision::bf16;
  const Model model = Model::load(test::golden("st-cls"), options);
  log.set_level(level);
  log.sinks().pop_back();
  for (const char* part :
       {"BertModel", "precision bf16 (as asked)", "max length 9 tokens (as asked)",
        "pooling: cls, normalised; prompt: none"}) {
    EXPECT_THAT(text.str(), HasSubstr(part));
  }
  const std::string start = test::golden("st-cls/");
  std::vector<std::string> files = model.info().files;
  std::sort(files.begin() + 3, files.end());
  EXPECT_THAT(files, testing::ElementsAre(
                         start + "config.json", start + "model.safetensors", start + "vocab.txt",
                         start + "1_Pooling/config.json", start + "modules.json",
                         start + "sentence_bert_config.json", start + "special_tokens_map.json",
                         start + "tokenizer_config.json"));
}

// transformers hard-codes 1e-12 for DistilBERT.
TEST(Settings, DistilBertsEpsilonIsFixed) {
  const test::CopiedModel copy("distilbert");
  const std::vector<Input> texts = {{"a man is playing"}};
  const std::vector<float> before = Model::load(copy.path()).embed(texts).values;
  copy.change("config.json", {{"layer_norm_eps", 1e-3}});
  EXPECT_EQ(Model::load(copy.path()).embed(texts).values, before);
}

TEST(Options, MaxLengthTruncates) {
  Options options;
  options.max_length = 5;
  const Model model = Model::load(test::golden("plain"), options);
  const std::vector<Encoding> got =
      model.tokenize(std::vector<Input>{{"a man plays the guitar", "dogs"}, {"a"}});
  EXPECT_EQ(got[0].ids.size(), 5u);
  EXPECT_TRUE(got[0].truncated);
  EXPECT_FALSE(got[1].truncated);
  EXPECT_EQ(model.info().max_length, 5);
}

TEST(Batches, HoldWhatTheBudgetAllowsAndEveryInputOnce) {
  std::vector<Encoding> inputs;
  for (const int length : {3, 50, 10, 10, 10, 200, 1}) {
    inputs.push_back({std::vector<int32_t>(length), std::vector<int32_t>(length), {}, false});
  }
  using testing::UnorderedElementsAre;
  EXPECT_THAT(models::plan_batches(inputs, 64),
              testing::ElementsAre(UnorderedElementsAre(5), UnorderedElementsAre(1, 2),
                                   UnorderedElementsAre(3, 4, 0, 6)));

  models::Config config;
  config.types = 2;
  const models::Batch batch = models::make_batch(inputs, std::vector<int64_t>{6, 0}, config);
  EXPECT_THAT(batch.starts, testing::ElementsAre(0, 1, 4));
  EXPECT_THAT(batch.positions, testing::ElementsAre(0, 0, 1, 2));
  EXPECT_EQ(batch.pairs(), 1 + 9);

  // As in fairseq, positions start after the padding token's, and padding tokens are not counted.
  config.padding = 1;
  config.first_position = 2;
  inputs[0].ids = {5, 1, 7};
  EXPECT_THAT(models::make_batch(inputs, std::vector<int64_t>{0}, config).positions,
              testing::ElementsAre(2, 1, 3));
}

// At least two for each worker, unless they would have fewer than 256 tokens.
TEST(Batches, AreSharedAmongTheWorkers) {
  const auto budget = [](int workers, int tokens, int64_t batch_tokens) {
    Options options;
    options.workers = workers;
    options.threads = 1;
    const Encoding one{std::vector<int32_t>(static_cast<size_t>(tokens)), {}, {}, false};
    return models::Workers(options).batch_budget({&one, 1}, batch_tokens);
  };
  EXPECT_EQ(budget(1, 100000, 4096), 4096);
  EXPECT_EQ(budget(1, 10, 70), 70);
  EXPECT_EQ(budget(2, 511, 4096), 4096);  // too few to share
  EXPECT_EQ(budget(2, 512, 4096), 256);
  EXPECT_EQ(budget(2, 4000, 4096), 1000);
  EXPECT_EQ(budget(2, 100000, 4096), 2048);
  EXPECT_EQ(budget(4, 100000, 100), 25);
  EXPECT_EQ(budget(4, 100000, 3), 1);
}

TEST(Options, WorkersAndThreadsShareTheProcessors) {
  const int usable = engine::usable_threads();
  const auto found = [](int workers, int threads) {
    Options options;
    options.workers = workers;
    options.threads = threads;
    const Model model = Model::load(test::golden("plain"), options);
    return std::pair(model.info().workers, model.info().threads);
  };
  EXPECT_EQ(found(0, 0), std::pair(usable, 1));
  EXPECT_EQ(found(2, 0), std::pair(2, std::max(1, usable / 2)));
  EXPECT_EQ(found(0, 3), std::pair(1, 3));
  EXPECT_EQ(found(3, 2), std::pair(3, 2));
}

TEST(Input, ExamplesForInt8FitTheModel) {
  models::Config config;
  config.vocabulary = 50;
  config.positions = 20;
  config.types = 1;
  const auto encode = [](const char* first, const char*) {
    const auto words = static_cast<int32_t>(std::string_view(first).size());
    Encoding encoding;
    encoding.ids.assign(words + 3, 7);  // with three special tokens
    encoding.type_ids.assign(words + 3, 1);
    return encoding;
  };
  const models::Batch batch = models::example_batch(encode, config);
  EXPECT_GT(batch.sequences(), 4);
  for (int64_t i = 0; i < batch.sequences(); ++i) {
    EXPECT_LE(batch.starts[i + 1] - batch.starts[i], config.positions);
  }
  const std::set<int32_t> ids(batch.ids.begin(), batch.ids.end());
  EXPECT_GT(ids.size(), 20u);  // also where the tokenizer knows none of the words
  EXPECT_GE(*ids.begin(), 0);
  EXPECT_LT(*ids.rbegin(), config.vocabulary);
  EXPECT_THAT(batch.type_ids, testing::Each(0));
  EXPECT_EQ(models::example_batch(encode, config).ids, batch.ids);
}

}  // namespace
}  // namespace bert

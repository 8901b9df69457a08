// SPDX-License-Identifier: Apache-2.0
//
// The public API over the parts: loading, batching, and one exception type for whatever goes wrong.
#include <algorithm>
#include <climits>
#include <filesystem>
#include <new>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/runtime.h"
#include "models/batch.h"
#include "models/bert.h"
#include "models/bert_infer.h"
#include "models/heads.h"
#include "models/json_file.h"
#include "models/trace.h"
#include "models/workers.h"
#include "tokenizer/tokenizer.h"

namespace bert {

Error::~Error() = default;

namespace {

using models::Batch;
using models::first_rows;
using models::Trace;
using models::Workers;
using models::Workspace;
using models::WorkspacePool;

// Runs a body that may throw anything, and throws nothing but Error.
template <typename Body>
decltype(auto) guarded(const Body& body) {
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error("out of memory");
  } catch (const std::exception& error) {
    throw Error(error.what());
  }
}

void require_directory(const std::string& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    throw Error(directory + ": not a directory (expected a Hugging Face model directory)");
  }
}

}  // namespace

// ---- Tokenizer ----------------------------------------------------------------------------------

struct __attribute__((visibility("hidden"))) Tokenizer::Impl {
  tokenizer::Tokenizer tokenizer;
  int max_length;

  static Encoding converted(tokenizer::Encoding made) {
    Encoding encoding{std::move(made.ids), std::move(made.type_ids), {}, made.truncated};
    encoding.offsets.reserve(made.offsets.size());
    for (const auto& offset : made.offsets) encoding.offsets.push_back({offset.begin, offset.end});
    return encoding;
  }

  std::vector<Encoding> encode(std::span<const Input> inputs, int threads) const {
    std::vector<tokenizer::Texts> texts;
    texts.reserve(inputs.size());
    for (const Input& input : inputs) texts.push_back({input.first, input.second});
    std::vector<Encoding> encodings;
    encodings.reserve(inputs.size());
    for (auto& made : tokenizer.encode_batch(texts, max_length, threads)) {
      encodings.push_back(converted(std::move(made)));
    }
    return encodings;
  }
};

Tokenizer Tokenizer::load(const std::string& directory, int max_length) {
  return guarded([&] {
    require_directory(directory);
    auto loaded = tokenizer::Tokenizer::load(directory);
    const int limit = max_length > 0 ? max_length : loaded.default_max_length();
    return Tokenizer(std::make_shared<const Impl>(Impl{std::move(loaded), limit}));
  });
}

Encoding Tokenizer::encode(const Input& input) const {
  return guarded([&] {
    return Impl::converted(impl_->tokenizer.encode(input.first, input.second, impl_->max_length));
  });
}

std::vector<Encoding> Tokenizer::encode(std::span<const Input> inputs, int threads) const {
  return guarded([&] { return impl_->encode(inputs, models::resolve_threads(threads)); });
}

const std::string& Tokenizer::token(int32_t id) const {
  return guarded([&]() -> const std::string& { return impl_->tokenizer.token(id); });
}

const std::vector<std::string>& Tokenizer::notes() const { return impl_->tokenizer.notes(); }

// ---- Model --------------------------------------------------------------------------------------

struct __attribute__((visibility("hidden"))) Model::Impl {
  Impl(const std::string& directory, const Options& options);

  template <typename Result, typename Body>
  Result for_batches(std::span<const Encoding> encodings, engine::Reads reads, Result result,
                     const Body& body) const;
  std::vector<Encoding> tokenize(std::span<const Input> inputs) const {
    return tokenizer.impl_->encode(inputs, workers.all().threads());
  }
  Output run(std::span<const Encoding> encodings) const;
  Output embed(std::span<const Encoding> encodings) const;
  std::vector<Hidden> hidden(std::span<const Encoding> encodings) const;
  void trace(const Encoding& encoding, const Trace& trace) const;

  models::Config config;
  models::Checkpoint checkpoint;  // the embedding tables are read where they lie in its files
  mutable Workers workers;
  Info info;
  Tokenizer tokenizer;
  models::Encoder encoder;
  std::optional<models::Pooler> pooler;
  std::optional<models::Classifier> classifier;
  models::Pooling pooling;
  int64_t batch_tokens;
  mutable WorkspacePool spaces;

 private:
  void check_head() const;
  void describe();
  Tokenizer load_tokenizer(const std::string& directory, int wanted);
  Batch example() const;
};

namespace {

void check_options(const Options& options) {
  if (options.batch_tokens < 1) {
    throw Error(fmt::format("batch_tokens is {}, expected at least 1", options.batch_tokens));
  }
  if (options.max_length < 0) {
    throw Error(fmt::format("max_length is {}, expected at least 0", options.max_length));
  }
}

engine::Precision resolve(Precision wanted) {
  return wanted == Precision::int8   ? engine::Precision::int8
         : wanted == Precision::bf16 ? engine::Precision::bf16
                                     : engine::Precision::f32;
}

models::Config read_checked_config(const std::string& directory, const Options& options) {
  check_options(options);
  require_directory(directory);
  return models::read_config(directory);
}

}  // namespace

Model::Impl::Impl(const std::string& directory, const Options& options)
    : config(read_checked_config(directory, options)),
      checkpoint(directory),
      workers(options),
      tokenizer(load_tokenizer(directory, options.max_length)),
      encoder(checkpoint, config, resolve(options.precision), example(), workers.all()),
      pooling(models::read_pooling(directory, config)),
      batch_tokens(options.batch_tokens) {
  // Without a head the pooler is optional: transformers can leave it out of a BertModel.
  if (config.head != models::Head::none || checkpoint.has("pooler.dense.weight")) {
    pooler.emplace(checkpoint, config, workers.all());
  }
  if (config.head != models::Head::none) classifier.emplace(checkpoint, config, workers.all());
  if (const int left = checkpoint.finish(config.not_evaluated); left > 0) {
    info.notes.push_back(
        fmt::format("{}: the {} tensors of {} are not evaluated: the head that they "
                    "belong to is not supported",
                    directory, left, fmt::join(config.not_evaluated, " and ")));
  }
  describe();
}

// The greatest length is the one asked for, else the least of what the directory's files name.
Tokenizer Model::Impl::load_tokenizer(const std::string& directory, int wanted) {
  if (wanted > config.positions) {
    throw Error(
        fmt::format("max_length is {}, but the model has {} positions", wanted, config.positions));
  }
  auto loaded = tokenizer::Tokenizer::load(directory);
  info.notes = loaded.notes();
  if (const int size = loaded.vocabulary_size(); size > config.vocabulary) {
    throw Error(
        fmt::format("{}: the tokenizer has ids up to {}, but config.json's vocab_size is {}",
                    directory, size - 1, config.vocabulary));
  } else if (size < config.vocabulary) {  // rows of padding, or a vocabulary that was cut short
    info.notes.push_back(
        fmt::format("{}: the tokenizer has {} ids, but config.json's vocab_size is {}", directory,
                    size, config.vocabulary));
  }
  int64_t limit = config.positions;
  if (wanted > 0) {
    limit = wanted;
  } else {
    if (loaded.default_max_length() > 0) {
      limit = std::min<int64_t>(limit, loaded.default_max_length());
    }
    const std::string path = directory + "/sentence_bert_config.json";
    if (models::file_exists(path)) {
      limit = std::min(limit, models::JsonFile(path).integer("max_seq_length", 1, INT_MAX, limit));
    }
  }
  info.max_length = static_cast<int>(limit);
  return Tokenizer(
      std::make_shared<const Tokenizer::Impl>(Tokenizer::Impl{std::move(loaded), info.max_length}));
}

// A few pairs of tokens from everywhere in the vocabulary, always the same, between the special
// tokens that the tokenizer puts around two texts.
Batch Model::Impl::example() const {
  constexpr int kPairs = 4, kTokens = 12;  // kTokens: of each text
  const tokenizer::Encoding empty = tokenizer.impl_->tokenizer.encode("", "", 0);
  std::mt19937 generator(1);
  std::vector<Encoding> encodings(kPairs);
  std::vector<int64_t> order;
  for (Encoding& encoding : encodings) {
    const auto add = [&](int32_t id, int32_t type) {
      if (std::ssize(encoding.ids) == info.max_length) return;
      encoding.ids.push_back(id);
      encoding.type_ids.push_back(std::min(type, config.types - 1));
    };
    for (size_t i = 0; i < std::max<size_t>(empty.ids.size(), 1); ++i) {
      if (i < empty.ids.size()) add(empty.ids[i], empty.type_ids[i]);
      const int32_t type = i + 1 < empty.ids.size() ? empty.type_ids[i + 1] : 0;
      for (int j = 0; j < kTokens && (i == 0 || i + 1 < empty.ids.size()); ++j) {
        add(static_cast<int32_t>(generator() % config.vocabulary), type);
      }
    }
    order.push_back(std::ssize(order));
  }
  return models::make_batch(encodings, order);
}

void Model::Impl::describe() {
  info.architecture = config.architecture;
  info.layers = config.layers;
  info.hidden = config.hidden;
  info.heads = config.heads;
  info.intermediate = config.intermediate;
  info.vocabulary = config.vocabulary;
  info.has_logits = classifier.has_value();
  info.has_pooler = pooler.has_value();
  info.labels = config.labels;
  info.scores = config.scores;
  info.pooling =
      pooling.description() + (pooling.configured ? "" : " (no modules.json says otherwise)");
  info.precision = encoder.precision == engine::Precision::f32    ? "f32"
                   : encoder.precision == engine::Precision::bf16 ? "bf16"
                                                                  : "int8";
  info.workers = workers.count();
  info.threads = workers.threads_of_each();
}

// Calls body(batch, order, x, pool, space, result) for each batch of the encodings: x is what is
// read of its last hidden state, and sequence i of it is encoding order[i].
template <typename Result, typename Body>
Result Model::Impl::for_batches(std::span<const Encoding> encodings, engine::Reads reads,
                                Result result, const Body& body) const {
  for (size_t i = 0; i < encodings.size(); ++i) {
    models::check_encoding(encodings[i], static_cast<int64_t>(i), config);
  }
  const auto orders = models::plan_batches(encodings, workers.share(encodings, batch_tokens));
  workers.run(std::ssize(orders), [&](int64_t i, engine::ThreadPool& pool) {
    spaces.use([&](Workspace& space) {
      const Batch batch = models::make_batch(encodings, orders[i]);
      body(batch, orders[i], encoder.run(batch, pool, reads, space, nullptr), pool, space, result);
    });
  });
  return result;
}

void Model::Impl::check_head() const {
  if (!classifier) {
    throw Error(fmt::format("a {} has no head that gives logits: use embed or hidden",
                            config.architecture));
  }
}

Output Model::Impl::run(std::span<const Encoding> encodings) const {
  check_head();
  const auto rows = static_cast<int64_t>(encodings.size());
  const auto columns = static_cast<int64_t>(config.labels.size());
  return for_batches(
      encodings, engine::Reads::first, Output{rows, columns, std::vector<float>(rows * columns)},
      [&](const Batch&, const auto& order, engine::Tensor first, engine::ThreadPool& pool,
          Workspace& space, Output& output) {
        const engine::Tensor logits = classifier->run(pool, pooler->run(pool, first, space), space);
        for (int64_t i = 0; i < logits.rows; ++i) {
          std::copy_n(logits.row(i), columns, output.values.data() + order[i] * columns);
        }
      });
}

Output Model::Impl::embed(std::span<const Encoding> encodings) const {
  const auto rows = static_cast<int64_t>(encodings.size());
  const int64_t columns = config.hidden;
  return for_batches(
      encodings, pooling.reads(), Output{rows, columns, std::vector<float>(rows * columns)},
      [&](const Batch& batch, const auto& order, engine::Tensor x, engine::ThreadPool& pool,
          Workspace&, Output& output) {
        const bool first = pooling.reads() == engine::Reads::first;
        pool.run(batch.sequences(), [&](int64_t i, int) {
          pooling.run(x, first ? i : batch.starts[i], first ? i + 1 : batch.starts[i + 1],
                      output.values.data() + order[i] * columns);
        });
      });
}

std::vector<Hidden> Model::Impl::hidden(std::span<const Encoding> encodings) const {
  return for_batches(encodings, engine::Reads::all, std::vector<Hidden>(encodings.size()),
                     [&](const Batch& batch, const auto& order, engine::Tensor x,
                         engine::ThreadPool& pool, Workspace& space, std::vector<Hidden>& output) {
                       engine::Tensor pooled;
                       if (pooler) pooled = pooler->run(pool, first_rows(batch, x, space), space);
                       for (int64_t i = 0; i < batch.sequences(); ++i) {
                         const int64_t begin = batch.starts[i], end = batch.starts[i + 1];
                         Hidden& one = output[order[i]];
                         one.states = {end - begin,
                                       x.columns,
                                       {x.row(begin), x.row(begin) + (end - begin) * x.columns}};
                         if (pooler)
                           one.pooler.assign(pooled.row(i), pooled.row(i) + pooled.columns);
                       }
                     });
}

void Model::Impl::trace(const Encoding& encoding, const Trace& trace) const {
  models::check_encoding(encoding, 0, config);
  spaces.use([&](Workspace& space) {
    const int64_t order[] = {0};
    const Batch batch = models::make_batch({&encoding, 1}, order);
    const engine::Tensor x = encoder.run(batch, workers.all(), engine::Reads::all, space, trace);
    if (pooler) {
      const engine::Tensor pooled = pooler->run(workers.all(), first_rows(batch, x, space), space);
      trace("pooler", pooled.data, pooled.rows, pooled.columns);
      if (classifier) {
        const engine::Tensor logits = classifier->run(workers.all(), pooled, space);
        trace("logits", logits.data, logits.rows, logits.columns);
      }
    }
    std::vector<float> embedding(config.hidden);
    pooling.run(x, 0, x.rows, embedding.data());
    trace("embedding", embedding.data(), 1, config.hidden);
  });
}

struct Internals {
  static const Model::Impl& impl(const Model& model) { return *model.impl_; }
};

Model Model::load(const std::string& directory, const Options& options) {
  return guarded([&] { return Model(std::make_shared<const Impl>(directory, options)); });
}

Output Model::run(std::span<const Encoding> encodings) const {
  return guarded([&] { return impl_->run(encodings); });
}
Output Model::run(std::span<const Input> inputs) const {
  return guarded([&] { return impl_->run(impl_->tokenize(inputs)); });
}
Output Model::embed(std::span<const Encoding> encodings) const {
  return guarded([&] { return impl_->embed(encodings); });
}
Output Model::embed(std::span<const Input> inputs) const {
  return guarded([&] { return impl_->embed(impl_->tokenize(inputs)); });
}
std::vector<Hidden> Model::hidden(std::span<const Encoding> encodings) const {
  return guarded([&] { return impl_->hidden(encodings); });
}
std::vector<Hidden> Model::hidden(std::span<const Input> inputs) const {
  return guarded([&] { return impl_->hidden(impl_->tokenize(inputs)); });
}
std::vector<Encoding> Model::tokenize(std::span<const Input> inputs) const {
  return guarded([&] { return impl_->tokenize(inputs); });
}
const Tokenizer& Model::tokenizer() const { return impl_->tokenizer; }
const Info& Model::info() const { return impl_->info; }

}  // namespace bert

namespace bert::models {

void run_traced(const Model& model, const Encoding& encoding, const Trace& trace) {
  guarded([&] { Internals::impl(model).trace(encoding, trace); });
}

struct Pass::Impl {
  const Model model;
  Batch batch;
  Workspace space;
};

Pass::Pass(const Model& model, std::span<const Encoding> encodings) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < encodings.size(); ++i) {
    check_encoding(encodings[i], static_cast<int64_t>(i), Internals::impl(model).config);
    order.push_back(static_cast<int64_t>(i));
  }
  impl_ = std::make_unique<Impl>(model, make_batch(encodings, order), Workspace{});
}
Pass::~Pass() = default;

void Pass::hidden() {
  const auto& model = Internals::impl(impl_->model);
  model.encoder.run(impl_->batch, pool(), engine::Reads::all, impl_->space, nullptr);
}
void Pass::logits() {
  const auto& model = Internals::impl(impl_->model);
  const engine::Tensor first =
      model.encoder.run(impl_->batch, pool(), engine::Reads::first, impl_->space, nullptr);
  model.classifier->run(pool(), model.pooler->run(pool(), first, impl_->space), impl_->space);
}
engine::Precision Pass::precision() const {
  return Internals::impl(impl_->model).encoder.precision;
}
engine::ThreadPool& Pass::pool() { return Internals::impl(impl_->model).workers.all(); }

}  // namespace bert::models

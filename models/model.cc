// SPDX-License-Identifier: Apache-2.0
//
// The public API over the parts: loading, batching, and one exception type for whatever goes wrong.
#include <algorithm>
#include <climits>
#include <new>
#include <numeric>
#include <optional>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/runtime.h"
#include "models/model_impl.h"
#include "models/network/batch.h"
#include "models/weights/json_file.h"

namespace bert {

Error::~Error() = default;

namespace {

using models::Batch;
using models::check_max_length;
using models::guarded;
using models::require_directory;

void check_options(const Options& options) {
  if (options.batch_tokens < 1) {
    throw Error(fmt::format("batch_tokens is {}, expected at least 1", options.batch_tokens));
  }
  check_max_length(options.max_length);
  if (options.precision < Precision::automatic || options.precision > Precision::int8) {
    throw Error(fmt::format("precision is {}, which is none", static_cast<int>(options.precision)));
  }
}

// What is put before each first text that is embedded, or scored as sentence-transformers'
// CrossEncoder does it.
std::string find_prompt(const std::string& directory, const std::string& wanted,
                        const models::Config& config, Info& info) {
  const bool scores = std::ranges::all_of(config.heads_on_top, [](const models::HeadRow* row) {
    return row->kind == models::HeadKind::classification;
  });
  if (!scores) {
    if (wanted.empty()) return "";
    throw Error(
        fmt::format("prompt '{}' is for embeddings and for scores of whole inputs, but {} is a {}",
                    wanted, directory, config.architecture));
  }
  const models::Prompts prompts = models::read_prompts(directory);
  const std::string& name = wanted.empty() ? prompts.usual : wanted;
  if (name.empty()) return "";
  const auto found = prompts.by_name.find(name);
  if (found == prompts.by_name.end()) {
    std::vector<std::string> names;
    for (const auto& [known, text] : prompts.by_name) names.push_back(known);
    throw Error(fmt::format(
        "{}/config_sentence_transformers.json: 'prompts' has no '{}', but {}", directory, name,
        names.empty() ? "none at all" : fmt::format("{}", fmt::join(names, ", "))));
  }
  info.notes.push_back(
      fmt::format("prompt {}: \"{}\" stands before each first text", name, found->second));
  return found->second;
}

models::Config read_checked_config(const std::string& directory, const Options& options) {
  check_options(options);
  require_directory(directory);
  return models::read_config(directory);
}

}  // namespace

Model::Impl::Impl(const std::string& directory, const Options& options)
    : config(read_checked_config(directory, options)),
      checkpoint(open_checkpoint(directory)),
      workers(options),
      tokenizer(load_tokenizer(directory, options)),
      encoder(load_encoder(options.precision)),
      sentence(directory, config, workers.all()),
      batch_tokens(options.batch_tokens) {
  load_heads();
  for (const auto& notes : {config.notes, checkpoint.notes()}) {
    info.notes.insert(info.notes.end(), notes.begin(), notes.end());
  }
  if (const int left = checkpoint.finish(config.not_evaluated); left > 0) {
    info.notes.push_back(
        fmt::format("{}: {} tensors of a pre-training head that {} does not have are not evaluated",
                    directory, left, config.architecture));
  }
  describe();
}

// Published sentence encoders often still name the masked language model that they were made of:
// heads of which there is nothing are left out, as transformers' AutoModel does.
models::Checkpoint Model::Impl::open_checkpoint(const std::string& directory) {
  models::Checkpoint opened(directory, config.family->prefix);
  auto& heads = config.heads_on_top;
  const bool predicts = std::ranges::any_of(
      heads, [](const models::HeadRow* row) { return row->kind == models::HeadKind::masked_lm; });
  const bool absent = std::ranges::none_of(heads, [&](const models::HeadRow* row) {
    const std::string inner = *row->transform ? row->transform : row->output;
    return opened.has(inner + ".weight") || opened.has(row->bias);
  });
  if (predicts && absent) {
    heads.clear();
    info.notes.push_back(
        fmt::format("{}: {} has no tensors of its head, so it is the encoder alone", opened.path(),
                    config.architecture));
  }
  return opened;
}

void Model::Impl::load_heads() {
  const auto reads_pooler = [](const models::HeadRow* row) {
    return row->reads == models::ReadBy::pooler;
  };
  // Where no head reads it the pooler is optional: transformers can leave it out.
  const std::string name = config.family->pooler;
  if (std::ranges::any_of(config.heads_on_top, reads_pooler) ||
      (!name.empty() && checkpoint.has(name + ".weight"))) {
    pooler.emplace(checkpoint, config, workers.all());
  }
  for (const models::HeadRow* row : config.heads_on_top) {
    auto& head = row->reads == models::ReadBy::every ? token_head : sequence_head;
    head.emplace(checkpoint, config, *row, encoder.embeddings, workers.all());
  }
}

Tokenizer Model::Impl::load_tokenizer(const std::string& directory, const Options& options) {
  const int wanted = options.max_length;
  if (wanted > config.positions) {
    throw Error(
        fmt::format("max_length is {}, but the model has {} positions", wanted, config.positions));
  }
  auto loaded = tokenizer::TextEncoder::load(directory);
  info.notes.insert(info.notes.end(), loaded.notes().begin(), loaded.notes().end());
  const int size = loaded.vocabulary_size();
  if (size > config.vocabulary) {
    throw Error(
        fmt::format("{}: the tokenizer has ids up to {}, but config.json's vocab_size is {}",
                    directory, size - 1, config.vocabulary));
  }
  if (size < config.vocabulary) {  // rows of padding, or a vocabulary that was cut short
    info.notes.push_back(
        fmt::format("{}: the tokenizer has {} ids, but config.json's vocab_size is {}", directory,
                    size, config.vocabulary));
  }
  const std::optional<models::JsonFile> settings = models::read_sentence_settings(directory);
  if (settings && settings->boolean("do_lower_case", false) && !loaded.lowercases()) {
    settings->fail("do_lower_case", "false, as the tokenizer does not lower texts");
  }
  int64_t limit = config.positions;
  if (wanted > 0) {
    limit = wanted;
  } else {
    int64_t named = loaded.default_max_length() > 0 ? loaded.default_max_length() : limit;
    if (settings) named = settings->integer("max_seq_length", 1, INT_MAX, named);
    limit = std::min(limit, named);
  }
  info.max_length = static_cast<int>(limit);
  return Tokenizer(std::make_shared<const Tokenizer::Impl>(Tokenizer::Impl{
      std::move(loaded), info.max_length, find_prompt(directory, options.prompt, config, info)}));
}

std::string Model::Impl::some_layer() const {
  return config.layer_names.front() + config.family->layer.output;
}

// auto is f32, whatever the weights are stored in and however fast bf16 is: rounding what goes into
// the products would cost the agreement with Hugging Face's logits to the fifth decimal. Only int8
// weights leave no choice.
engine::Precision Model::Impl::resolve(Precision wanted) {
  if (is_int8()) {
    if (wanted == Precision::f32 || wanted == Precision::bf16) {
      throw Error(checkpoint.path() + ": holds int8 weights: precision is int8 or auto");
    }
    return engine::Precision::int8;
  }
  if (wanted == Precision::int8) return engine::Precision::int8;
  if (wanted == Precision::bf16) return engine::Precision::bf16;
  if (wanted == Precision::automatic && checkpoint.is_bf16(some_layer())) {
    info.notes.push_back(
        fmt::format("{}: the weights are stored in BF16; precision auto is f32, which is exact; "
                    "bf16 would be {:.1f} times as fast on this machine",
                    checkpoint.path(), engine::bf16_speed()));
  }
  return engine::Precision::f32;
}

models::Encoder Model::Impl::load_encoder(Precision wanted) {
  const Encoding empty = tokenizer.impl_->text_encoder.encode("", "", 0);
  const Batch example = models::example_batch(empty.ids, empty.type_ids, config);
  return models::Encoder(checkpoint, config, resolve(wanted), example, workers.all());
}

namespace {

// Of two heads, that by token.
Task task_of(const models::Config& config) {
  using models::HeadKind;
  Task task = Task::embed;
  for (const models::HeadRow* head : config.heads_on_top) {
    switch (head->kind) {
      case HeadKind::masked_lm:
        return Task::fill_mask;
      case HeadKind::token_classification:
        return Task::tag;
      case HeadKind::question_answering:
        return Task::answer;
      case HeadKind::replaced_token:
        return Task::detect;
      case HeadKind::multiple_choice:
        task = Task::choose;
        break;
      case HeadKind::classification:
      case HeadKind::next_sentence:
      case HeadKind::sentence_order:
        task = Task::classify;
    }
  }
  return task;
}

}  // namespace

void Model::Impl::describe() {
  info.architecture = config.architecture;
  info.layers = config.layers;
  info.hidden = config.hidden;
  info.heads = config.heads;
  info.intermediate = config.intermediate;
  info.vocabulary = config.vocabulary;
  info.has_logits = sequence_head.has_value();
  info.has_token_logits = token_head.has_value();
  info.has_pooler = pooler.has_value();
  info.task = task_of(config);
  const auto& labels = sequence_head ? config.by_sequence : config.by_token;
  info.labels = labels.names;
  info.scores = labels.scores;
  info.pooling = sentence.description();
  info.embedding = static_cast<int>(sentence.columns());
  info.precision = encoder.precision == engine::Precision::f32    ? "f32"
                   : encoder.precision == engine::Precision::bf16 ? "bf16"
                                                                  : "int8";
  if (encoder.precision == engine::Precision::int8) {
    int64_t exact = 0, all = 0;
    for (const models::Layer& layer : encoder.layers) {
      for (const auto& dense : layer.dense_layers()) {
        exact += dense.linear.exact_inputs();
        all += dense.linear.width();
      }
    }
    info.notes.push_back(fmt::format(
        "int8: of the {} inputs of dense layers {} are far larger than the rest and stay in f32",
        all, exact));
  }
  info.workers = workers.count();
  info.threads = workers.threads_of_each();
}

void Model::Impl::check_head(const std::optional<models::Head>& head, const char* what) const {
  if (!head) {
    throw Error(fmt::format("a {} has no head that gives logits for {}, but {}",
                            config.architecture, what, head_description()));
  }
}

engine::Tensor Model::Impl::by_sequence(engine::ThreadPool& pool, engine::Tensor first,
                                        Workspace& space) const {
  const bool pooled = sequence_head->row.reads == models::ReadBy::pooler;
  return sequence_head->run(pool, pooled ? pooler->run(pool, first, space) : first, space);
}

Output Model::Impl::run(std::span<const Encoding> encodings) const {
  check_head(sequence_head, "a whole input");
  Output output(std::ssize(encodings), sequence_head->columns());
  for_batches(encodings, engine::Reads::first,
              [&](const Batch&, const auto& order, engine::Tensor first, engine::ThreadPool& pool,
                  Workspace& space) {
                const engine::Tensor logits = by_sequence(pool, first, space);
                for (int64_t i = 0; i < logits.rows; ++i) {
                  std::copy_n(logits.row(i), output.columns, output.row(order[i]).data());
                }
              });
  return output;
}

Output Model::Impl::embed(std::span<const Encoding> encodings) const {
  Output output(std::ssize(encodings), sentence.columns());
  for_batches(encodings, sentence.reads(),
              [&](const Batch& batch, const auto& order, engine::Tensor x, engine::ThreadPool& pool,
                  Workspace& space) {
                const engine::Tensor rows = sentence.run(batch, sentence.reads(), x, pool, space);
                for (int64_t i = 0; i < rows.rows; ++i) {
                  std::copy_n(rows.row(i), output.columns, output.row(order[i]).data());
                }
              });
  return output;
}

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
std::vector<Encoding> Model::tokenize(std::span<const Input> inputs) const {
  return guarded([&] { return impl_->tokenize(inputs); });
}
const Tokenizer& Model::tokenizer() const { return impl_->tokenizer; }
const Info& Model::info() const { return impl_->info; }

}  // namespace bert

// SPDX-License-Identifier: Apache-2.0
//
// Turns a directory into a model. Model::Impl::load is the sequence of steps; each returns what it
// built or decided.
#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "engine/runtime.h"
#include "models/config/texts/text_settings.h"
#include "models/directory/description.h"
#include "models/model_impl.h"
#include "models/network/build/example_batch.h"
#include "tokenizer/files/files.h"

namespace bert {

namespace models {

void check_max_length(int length) {
  if (length < 0) throw Error(fmt::format("max_length is {}, expected at least 0", length));
}

}  // namespace models

namespace {

using models::Checkpoint;
using models::ChosenPrecision;
using models::Config;
using models::Decisions;
using models::HeadKind;
using models::HeadRow;
using models::Heads;
using HeadRows = std::vector<const HeadRow*>;

// Whether an enumerator has this value: callers may cast any number.
template <typename Enum>
bool is_one_of(Enum value, std::initializer_list<Enum> known) {
  return std::ranges::find(known, value) != known.end();
}

void check_options(const Options& options) {
  if (options.batch_tokens < 1) {
    throw Error(fmt::format("batch_tokens is {}, expected at least 1", options.batch_tokens));
  }
  models::check_max_length(options.max_length);
  if (!is_one_of(options.precision,
                 {Precision::automatic, Precision::f32, Precision::bf16, Precision::int8})) {
    throw Error(fmt::format("unknown precision {}", static_cast<int>(options.precision)));
  }
  if (!is_one_of(options.backend, {Backend::automatic, Backend::onednn, Backend::panels})) {
    throw Error(fmt::format("unknown backend {}", static_cast<int>(options.backend)));
  }
}

Checkpoint open_checkpoint(const std::string& directory, const Config& config,
                           const std::string& adapter) {
  models::Weights weights = models::open_weights(directory);
  const auto prefixes = config.spans ? std::vector<std::string>{models::kSpanEncoderPrefix}
                                     : config.family->prefixes();
  models::apply_adapter(weights, {directory, prefixes, config.adapters}, adapter);
  return Checkpoint(std::move(weights), prefixes, config.family->word_names());
}

// The heads of the architecture, or none if it is a masked language model without any tensor of its
// head: published sentence encoders often still name the model they were made from. transformers'
// AutoModel leaves such a head out too.
HeadRows find_heads(const Config& config, const Checkpoint& checkpoint) {
  const HeadRows& named = config.heads_on_top;
  const bool predicts = std::ranges::any_of(
      named, [](const HeadRow* row) { return row->kind == HeadKind::masked_lm; });
  const bool absent = std::ranges::none_of(named, [&](const HeadRow* row) {
    const std::string inner = *row->transform ? row->transform : row->output;
    const bool stores_nothing =
        row->kind == HeadKind::masked_lm && config.tied && !*row->transform && !*row->bias;
    return stores_nothing || checkpoint.has(inner + ".weight") || checkpoint.has(row->bias);
  });
  return predicts && absent ? HeadRows() : named;
}

// Without a tokenizer, or with an unsupported one, a model still takes ids.
tokenizer::TextEncoder load_or_refuse(const std::string& directory) {
  try {
    return tokenizer::TextEncoder::load(directory);
  } catch (const tokenizer::UnreadableFile&) {
    throw;
  } catch (const std::runtime_error& error) {
    return tokenizer::TextEncoder::without_text(error.what());
  }
}

tokenizer::TextEncoder load_tokenizer(const std::string& directory, const Config& config) {
  tokenizer::TextEncoder loaded =
      load_or_refuse(config.spans ? config.spans->tokenizer_folder() : directory);
  // Published tokenizers may have tokens for another model, as EmbeddingGemma's for images.
  if (loaded.size_without_added() > config.vocabulary) {
    throw Error(
        fmt::format("{}: the tokenizer has ids up to {}, but config.json's vocab_size is {}",
                    directory, loaded.size_without_added() - 1, config.vocabulary));
  }
  return loaded;
}

void check_positions(const Options& options, const Config& config) {
  if (options.max_length > config.positions) {
    throw Error(fmt::format("max_length is {}, but the model has {} positions", options.max_length,
                            config.positions));
  }
}

// auto is f32, however the weights are stored and however fast bf16 is: rounding products' inputs
// would lose the agreement with Hugging Face's logits to the fifth decimal. Only int8 weights leave
// no choice.
ChosenPrecision choose_precision(Precision wanted, const Checkpoint& checkpoint,
                                 const Config& config) {
  const std::string layer = config.layer_names.front() + config.names_of(0).attention_output;
  const bool is_int8 = checkpoint.is_int8(layer);
  if (is_int8 && (wanted == Precision::f32 || wanted == Precision::bf16)) {
    throw Error(checkpoint.path() + ": holds int8 weights, expected precision int8 or auto");
  }
  switch (wanted) {
    case Precision::automatic:
      if (is_int8) return {engine::Precision::int8, "auto, and the weights are stored in int8"};
      return {engine::Precision::f32, "auto", checkpoint.is_bf16(layer)};
    case Precision::int8:
      return {engine::Precision::int8, "as asked"};
    case Precision::bf16:
      return {engine::Precision::bf16, "as asked"};
    case Precision::f32:
      break;
  }
  return {engine::Precision::f32, "as asked"};
}

engine::Products choose_products(Backend wanted, engine::Precision precision) {
  const engine::Backend backend = wanted == Backend::onednn   ? engine::Backend::onednn
                                  : wanted == Backend::panels ? engine::Backend::panels
                                                              : engine::Backend::automatic;
  return {.layers = engine::pick_layer_product(precision, backend),
          .f32 = engine::pick_product(engine::Precision::f32, backend)};
}

// In place of a text, if there is no tokenizer.
Encoding example_ids(int64_t vocabulary) {
  Encoding out;
  for (int64_t i = 1; i <= 32; ++i) {
    out.ids.push_back(static_cast<int32_t>(i * 7919 % vocabulary));
  }
  out.type_ids.resize(out.ids.size());
  return out;
}

models::Encoder load_encoder(Checkpoint& checkpoint, const Config& config,
                             const engine::Products& products,
                             const tokenizer::TextEncoder& tokenizer, const Options& options,
                             engine::Team& team) {
  const models::Batch example = models::example_batch(
      [&](const char* first, const char* second) {
        return tokenizer.takes_text() ? tokenizer.encode(first, second, 0)
                                      : example_ids(config.vocabulary);
      },
      config);
  return models::Encoder(checkpoint, config, products, example, team, options.progress);
}

// A pooler that no head reads is optional: transformers may leave it out.
Heads load_heads(Checkpoint& checkpoint, const Config& config, const HeadRows& rows,
                 const models::Embeddings& embeddings, const engine::Product& f32,
                 engine::Team& team) {
  Heads heads;
  const bool needs_pooler = std::ranges::any_of(
      rows, [](const HeadRow* row) { return row->reads == models::ReadBy::pooler; });
  const std::string pooler = config.family->pooler;
  if (needs_pooler || (!pooler.empty() && checkpoint.has(pooler + ".weight"))) {
    heads.pooler.emplace(checkpoint, config, f32, team);
  }
  for (const HeadRow* row : rows) {
    auto& head = row->reads == models::ReadBy::every ? heads.by_token : heads.by_sequence;
    head.emplace(checkpoint, config, *row, embeddings, f32, team);
  }
  if (config.spans) heads.entities.emplace(checkpoint, config, f32, team);
  return heads;
}

void log_decisions(const std::string& directory, const Info& info, const Decisions& decisions) {
  spdlog::logger& log = engine::log();
  log.info("{}: {}, {} layers, hidden size {}, {} heads", directory, info.architecture, info.layers,
           info.hidden, info.heads);
  log.info("precision {} ({}), {} workers of {} threads", info.precision,
           decisions.precision.reason, info.workers, info.threads);
  log.info("max length {} tokens ({})", info.max_length, decisions.max_length.source);
  log.info("pooling: {}; prompt: {}", info.pooling,
           decisions.prompt.name.empty() ? "none" : decisions.prompt.name);
}

}  // namespace

std::shared_ptr<const Model::Impl> Model::Impl::load(const std::string& name,
                                                     const Options& options) {
  check_options(options);
  const std::string directory = find_model(name), files = models::transformer_folder(directory);
  models::expect_transformer(directory);
  Config config = models::read_config(files, options.adapter);
  Checkpoint checkpoint = open_checkpoint(files, config, config.adapter);
  const HeadRows rows = find_heads(config, checkpoint);
  models::Workers workers(options);
  engine::Team team(workers.scheduler());

  check_positions(options, config);
  tokenizer::TextEncoder tokenizer = load_tokenizer(files, config);
  const auto max_length = models::choose_max_length(directory, options, config, tokenizer);
  models::RetrievalSettings retrieval_settings = models::read_retrieval_settings(directory, config);
  const models::Prompt prompt =
      models::choose_prompt(directory, options.prompt, config, rows, retrieval_settings);
  std::optional<models::ChatPairs> chat =
      models::ChatPairs::load(directory, prompt.text, tokenizer);
  const ChosenPrecision precision = choose_precision(options.precision, checkpoint, config);

  const engine::Products products = choose_products(options.backend, precision.precision);
  models::Encoder encoder = load_encoder(checkpoint, config, products, tokenizer, options, team);
  models::SentenceEmbedding sentence(
      retrieval_settings.embeds ? models::read_sentence_modules(directory, config, !rows.empty())
                                : models::SentenceModules(),
      checkpoint, products.f32, team);
  Heads heads = load_heads(checkpoint, config, rows, encoder.embeddings, products.f32, team);
  models::RetrievalParts retrieval =
      models::load_retrieval(retrieval_settings, config, checkpoint, tokenizer, max_length.tokens,
                             options.max_length, products.f32, team);
  const int unevaluated = checkpoint.finish(config.not_evaluated);

  const Decisions decisions{rows,      max_length, prompt,     chat.has_value(),
                            precision, products,   unevaluated};
  Info info = make_info(config, workers, heads, sentence, retrieval, decisions);
  const int64_t kept = info.kept_memory = models::most_kept(options, info.workers);
  info.files = files_of(config, checkpoint, tokenizer);
  info.tokenizer = tokenizer.algorithm();
  info.notes = make_notes(directory, config, checkpoint, tokenizer, encoder, retrieval, decisions);
  log_decisions(directory, info, decisions);
  Tokenizer with_prompt(std::make_shared<const Tokenizer::Impl>(Tokenizer::Impl{
      std::move(tokenizer), max_length.tokens, prompt.text, std::move(chat), true}));
  return std::shared_ptr<const Impl>(new Impl{.config = std::move(config),
                                              .checkpoint = std::move(checkpoint),
                                              .workers = std::move(workers),
                                              .tokenizer = std::move(with_prompt),
                                              .encoder = std::move(encoder),
                                              .pooler = std::move(heads.pooler),
                                              .sequence_head = std::move(heads.by_sequence),
                                              .token_head = std::move(heads.by_token),
                                              .entity_head = std::move(heads.entities),
                                              .sentence = std::move(sentence),
                                              .retrieval = std::move(retrieval),
                                              .f32 = products.f32,
                                              .batch_tokens = options.batch_tokens,
                                              .info = std::move(info),
                                              .spaces = models::WorkspacePool(kept)});
}

}  // namespace bert

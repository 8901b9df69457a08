// SPDX-License-Identifier: Apache-2.0
//
// What the public API's Model holds.
#pragma once

#include <new>
#include <optional>
#include <string>
#include <vector>

#include "models/bert_infer.h"
#include "models/network/batch.h"
#include "models/network/bert.h"
#include "models/network/heads.h"
#include "models/network/sentence.h"
#include "models/network/trace.h"
#include "models/tokenizer_impl.h"
#include "models/workers.h"

namespace bert {
namespace models {

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

}  // namespace models

struct Internals {
  static const Model::Impl& impl(const Model& model) { return *model.impl_; }
};

struct __attribute__((visibility("hidden"))) Model::Impl {
  using Workspace = models::Workspace;
  Impl(const std::string& directory, const Options& options);

  // Calls body(batch, order, x, pool, space) for each batch of the encodings: x is what is read of
  // its last hidden state, and sequence i of it is encoding order[i]. make_trace(batch, order) says
  // what else is to be seen of the forward pass.
  template <typename Body, typename MakeTrace>
  void for_batches(std::span<const Encoding> encodings, engine::Reads reads, const Body& body,
                   const MakeTrace& make_trace) const;
  template <typename Body>
  void for_batches(std::span<const Encoding> encodings, engine::Reads reads,
                   const Body& body) const {
    for_batches(encodings, reads, body,
                [](const models::Batch&, const std::vector<int64_t>&) { return models::Trace(); });
  }
  std::vector<Encoding> tokenize(std::span<const Input> inputs) const {
    return tokenizer.impl_->encode(inputs, threads());
  }
  int threads() const { return workers.all().threads(); }
  Output run(std::span<const Encoding> encodings) const;
  std::vector<Output> run_tokens(std::span<const Encoding> encodings) const;
  Output embed(std::span<const Encoding> encodings) const;
  std::vector<Hidden> hidden(std::span<const Encoding> encodings,
                             std::span<const int> layers) const;
  std::vector<Attention> attention(std::span<const Encoding> encodings,
                                   std::span<const int> layers) const;
  std::vector<std::vector<Blank>> fill_mask(std::span<const Encoding> encodings, int k) const;
  Answer answer(const Input& input, const AnswerOptions& options) const;
  void check_task(Task wanted) const;
  void trace(const Encoding& encoding, const models::Trace& trace) const;
  bool is_int8() const { return checkpoint.is_int8(some_layer()); }
  // [N, C], from the first row of each sequence.
  engine::Tensor by_sequence(engine::ThreadPool& pool, engine::Tensor first,
                             Workspace& space) const;

  Info info;
  models::Config config;
  models::Checkpoint checkpoint;  // the embedding tables are read where they lie in its files
  mutable models::Workers workers;
  Tokenizer tokenizer;
  models::Encoder encoder;
  std::optional<models::Pooler> pooler;
  std::optional<models::Head> sequence_head, token_head;
  models::SentenceEmbedding sentence;
  int64_t batch_tokens;
  mutable models::WorkspacePool spaces;

 private:
  std::string some_layer() const;
  models::Checkpoint open_checkpoint(const std::string& directory);
  void load_heads();
  std::string head_description() const;  // "its head is for tag"
  void check_head(const std::optional<models::Head>& head, const char* what) const;
  void describe();
  Tokenizer load_tokenizer(const std::string& directory, const Options& options);
  engine::Precision resolve(Precision wanted);
  models::Encoder load_encoder(Precision wanted);
};

template <typename Body, typename MakeTrace>
void Model::Impl::for_batches(std::span<const Encoding> encodings, engine::Reads reads,
                              const Body& body, const MakeTrace& make_trace) const {
  for (size_t i = 0; i < encodings.size(); ++i) {
    models::check_encoding(encodings[i], static_cast<int64_t>(i), config);
  }
  const auto orders = models::plan_batches(encodings, workers.share(encodings, batch_tokens));
  workers.run(std::ssize(orders), [&](int64_t i, engine::ThreadPool& pool) {
    spaces.use([&](Workspace& space) {
      const models::Batch batch = models::make_batch(encodings, orders[i], config);
      const models::Trace trace = make_trace(batch, orders[i]);
      body(batch, orders[i], encoder.run(batch, pool, reads, space, trace), pool, space);
    });
  });
}

}  // namespace bert

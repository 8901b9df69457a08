// SPDX-License-Identifier: Apache-2.0
//
// What the public API's Model holds.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/bert_infer.h"
#include "models/calls/guarded.h"
#include "models/calls/workers.h"
#include "models/calls/workspace_pool.h"
#include "models/network/batch.h"
#include "models/network/bert.h"
#include "models/network/extraction/entity_head.h"
#include "models/network/heads.h"
#include "models/network/pooling.h"
#include "models/network/retrieval/retrieval_parts.h"
#include "models/network/trace.h"
#include "models/tokenizer_impl.h"

namespace bert {
namespace models {

// Throws for values that Model::load and Tokenizer::load both refuse.
void check_max_length(int length);

}  // namespace models

struct Internals {
  using Impl = Model::Impl;
  static const Model::Impl& impl(const Model& model) { return *model.impl_; }
};

// The parts of a loaded model.
struct __attribute__((visibility("hidden"))) Model::Impl {
  using Workspace = models::Workspace;
  // In directory/load.cc.
  static std::shared_ptr<const Impl> load(const std::string& name, const Options& options);

  // The input that encoding i is of, for errors: a call's inputs may have several each.
  using InputOf = std::function<size_t(size_t i)>;
  // Calls body(batch, order, x, team, space) for each batch of the encodings. Sequence i of the
  // batch is encoding order[i]; x is its last hidden state, as `reads` says. make_trace(batch,
  // order) returns the Trace of a batch's forward pass. In for_batches.h.
  template <typename Body, typename MakeTrace>
  void for_batches(std::span<const Encoding> encodings, engine::Reads reads, const Body& body,
                   const MakeTrace& make_trace, const InputOf& input_of = std::identity()) const;
  template <typename Body>
  void for_batches(std::span<const Encoding> encodings, engine::Reads reads, const Body& body,
                   const InputOf& input_of = std::identity()) const {
    const auto none = [](const models::Batch&, const std::vector<int64_t>&) {
      return models::Trace();
    };
    for_batches(encodings, reads, body, none, input_of);
  }
  std::vector<Encoding> tokenize(std::span<const Input> inputs) const {
    return tokenizer.impl_->encode(inputs, on_workers());
  }
  bool truncates_left() const { return tokenizer.impl_->text_encoder.truncates_left(); }
  // In tokens, without truncation.
  int64_t whole_length(const Input& input) const {
    return std::ssize(tokenizer.impl_->text_encoder.encode(input.first, input.second, 0).ids);
  }
  const tokenizer::TextEncoder& text_encoder() const { return tokenizer.impl_->text_encoder; }
  models::ForEach on_workers() const {
    return [this](size_t count, const auto& body) { workers.for_each(count, body); };
  }
  Output run(std::span<const Encoding> encodings, const InputOf& input_of = std::identity()) const;
  std::vector<Output> run_tokens(std::span<const Encoding> encodings,
                                 const InputOf& input_of = std::identity()) const;
  Output embed(std::span<const Encoding> encodings) const;
  std::vector<Hidden> hidden(std::span<const Encoding> encodings,
                             std::span<const int> layers) const;
  std::vector<Attention> attention(std::span<const Encoding> encodings,
                                   std::span<const int> layers) const;
  std::vector<std::vector<Blank>> fill_mask(std::span<const Encoding> encodings, int k) const;
  std::vector<SparseVector> sparse(std::span<const Encoding> encodings) const;
  std::vector<Output> multi_vector(std::span<const Encoding> encodings, Role role) const;
  std::vector<Encoding> tokenize(std::span<const Input> inputs, Role role,
                                 const models::ForEach& for_each) const;
  std::vector<Encoding> tokenize(std::span<const Input> inputs, Role role) const {
    return tokenize(inputs, role, on_workers());
  }
  std::vector<Encoding> tokenize_for(Role role, std::span<const std::string> texts) const;
  // Pairs each text with each label's hypothesis; only texts are truncated.
  std::vector<Encoding> encode_hypotheses(std::span<const std::string> texts,
                                          std::span<const std::string> labels,
                                          const std::string& form,
                                          const models::ForEach& for_each) const;
  void check_interaction(Role role) const;  // throws if the model has no token vectors for it
  std::vector<Answer> answer(std::span<const Input> inputs, const AnswerOptions& options) const;
  std::vector<Tags> tag(std::span<const Input> inputs, const TagOptions& options) const;
  std::vector<Tags> find_entities(std::span<const Input> inputs, const TagOptions& options) const;
  void check_task(Task wanted) const;
  // Throws if an answer to input i is not finite: weights read in place were not checked before.
  void check_answer(size_t i, std::span<const float> values) const;
  // The answer to encoding i is row i.
  void check_rows(const Output& output, const InputOf& input_of = std::identity()) const;
  [[noreturn]] void refuse_head(const char* what) const;  // throws: no head gives logits for `what`
  std::string head_description() const;  // what the model has instead, for error messages
  // What sequence_head reads.
  using ClassifierPooling = models::Config::ClassifierPooling;
  ClassifierPooling sequence_pooling() const {
    const bool varies = sequence_head->row.reads == models::ReadBy::classifier_pooling;
    return varies ? config.classifier_pooling : ClassifierPooling::first;
  }
  engine::Reads sequence_reads() const {
    return sequence_pooling() == ClassifierPooling::first ? engine::Reads::first
                                                          : engine::Reads::all;
  }
  // The logits of sequence_head, [N, C], from the last hidden state: all its rows, or only those
  // that sequence_reads() asks for.
  engine::Tensor by_sequence(const models::Batch& batch, engine::Tensor x, engine::Team& team,
                             Workspace& space) const;

  models::Config config;
  models::Checkpoint checkpoint;  // owns the files; embedding tables are read from them in place
  models::Workers workers;
  Tokenizer tokenizer;
  models::Encoder encoder;
  std::optional<models::Pooler> pooler;
  std::optional<models::Head> sequence_head, token_head;
  std::optional<models::EntityHead> entity_head;
  models::SentenceEmbedding sentence;  // unless the model does not embed
  models::RetrievalParts retrieval;
  const engine::Product& f32;
  int64_t batch_tokens;
  Info info;
  mutable models::WorkspacePool spaces;
};

}  // namespace bert

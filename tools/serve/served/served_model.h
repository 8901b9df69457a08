// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/bert_infer.h"
#include "models/bert_queue.h"
#include "tools/serve/served/encode_text.h"

namespace bert::tools::serve {

// What routes ask of a model.
enum class Ability {
  embed,
  sparse,
  multi_vector,
  classify,
  rerank,
  zero_shot,
  given_labels,  // zero_shot, or tag with labels of the request's
  tag,
  answer,
  fill_mask,
  any
};

// A loaded model, its queue, and what the server calls it.
class ServedModel {
 public:
  // answered: see bert::QueueOptions.
  ServedModel(std::string name, std::string directory, const bert::Options& options,
              std::function<void()> answered);

  // The label that a zero-shot hypothesis must get, or -1.
  int entailment() const { return entailment_; }
  bool can(Ability ability) const;
  // Whether the ability is what the checkpoint's head is for.
  bool is_for(Ability ability) const;
  // In words, for messages: "a BertForMaskedLM, which fills masks".
  std::string description() const;
  const char* kind() const;  // as text-embeddings-inference calls it: "embedding", "reranker", ...
  // The task of Hugging Face's pipeline that POST / answers, or bert-infer's where it has none.
  const char* task() const;
  void warm_up();

  const std::string name, directory;
  const bert::Model model;
  const bert::Info& info;
  const bert::Info ranking_info;  // with the scores of pairs that are ranked
  const TextReader reader;
  mutable bert::Queue queue;  // is safe to use from many threads

 private:
  int entailment_ = -1;
};

}  // namespace bert::tools::serve

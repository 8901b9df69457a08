// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <fmt/format.h>

#include "models/tasks/ranking/bert_ranking.h"
#include "models/tasks/ranking/pair_scores.h"
#include "models/tasks/ranking/text_vectors.h"

namespace bert {

Scores models::pair_scores(const Model& model) {
  return Internals::impl(model).config.by_sequence.is_identity ? Scores::raw : Scores::sigmoid;
}

namespace {

std::vector<Relevance> score_pairs(const Model& of, const std::string& query,
                                   std::span<const std::string> documents) {
  const Internals::Impl& model = Internals::impl(of);
  if (model.info.labels.size() != 1) {
    throw Error(fmt::format("{}: id2label: found {} labels of {}, expected one to rank by",
                            model.config.path, model.info.labels.size(), model.info.architecture));
  }
  std::vector<Input> pairs;
  pairs.reserve(documents.size());
  for (const std::string& document : documents) pairs.push_back({query, document});
  const std::vector<Encoding> encodings = model.tokenize(pairs);
  const Output logits = model.run(encodings);
  Info info = model.info;
  info.scores = models::pair_scores(of);
  std::vector<Relevance> output;
  for (size_t i = 0; i < documents.size(); ++i) {
    output.push_back({probabilities(logits.row(static_cast<int64_t>(i)), info)[0],
                      static_cast<int32_t>(encodings[i].ids.size()), encodings[i].truncated});
  }
  return output;
}

std::vector<Relevance> compare_vectors(const Model& of, const std::string& query,
                                       std::span<const std::string> documents) {
  const Internals::Impl& model = Internals::impl(of);
  const auto of_query = models::vectors_of(model, Role::query, {&query, 1});
  const auto of_documents = models::vectors_of(model, Role::document, documents);
  std::vector<float> scores(documents.size());
  models::compare(model, of_query, of_documents, {scores.data(), 1, std::ssize(scores)});
  std::vector<Relevance> output;
  for (size_t i = 0; i < documents.size(); ++i) {
    const auto& [tokens, truncated] = of_documents.sizes[i];
    output.push_back({scores[i], tokens, truncated});
  }
  return output;
}

}  // namespace

std::vector<Relevance> relevance(const Model& model, const std::string& query,
                                 std::span<const std::string> documents) {
  return models::guarded([&] {
    const bool classifies = model.info().head_task == Task::classify;
    return (classifies ? score_pairs : compare_vectors)(model, query, documents);
  });
}

}  // namespace bert

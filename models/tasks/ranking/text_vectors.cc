// SPDX-License-Identifier: Apache-2.0
#include "models/tasks/ranking/text_vectors.h"

#include <algorithm>
#include <set>
#include <vector>

#include "engine/dense/linear.h"

namespace bert {

std::vector<Encoding> Model::Impl::tokenize_for(Role role,
                                                std::span<const std::string> texts) const {
  std::vector<Input> inputs;
  inputs.reserve(texts.size());
  for (const std::string& text : texts) inputs.push_back({text});
  if (!retrieval.embeds && !retrieval.sparse) return tokenize(inputs, role);
  const std::string& prompt =
      role == Role::query ? retrieval.query_prompt : retrieval.document_prompt;
  return tokenizer.impl_->encode_after(prompt, tokenizer.impl_->max_length, inputs, on_workers());
}

namespace models {
namespace {

// The tokens' weights by sentence-transformers' SparseStaticEmbedding.
TextVectors look_up(const Internals::Impl& model, std::span<const std::string> queries) {
  const QueryTable& table = *model.retrieval.query_table;
  std::vector<std::string> texts;
  for (const std::string& query : queries) texts.push_back(model.retrieval.query_prompt + query);
  std::vector<Texts> inputs;
  for (const std::string& text : texts) inputs.push_back({text});
  TextVectors vectors;
  for (const Encoding& encoding :
       encode_batch(table.tokenizer, inputs, table.limit, model.on_workers())) {
    const auto& [begin, end] = encoding.first;
    const std::set<int32_t> ids(encoding.ids.begin() + begin, encoding.ids.begin() + end);
    SparseVector& vector = vectors.sparse.emplace_back();
    for (const int32_t id : ids) {
      if (table.weight.data()[id] == 0) continue;
      vector.ids.push_back(id);
      vector.weights.push_back(table.weight.data()[id]);
    }
    vectors.sizes.push_back({end - begin, encoding.truncated});
  }
  return vectors;
}

void multiply(const Internals::Impl& model, const Output& queries, const Output& documents,
              engine::Tensor scores) {
  const engine::Buffer no_bias(documents.rows);  // zeros
  const engine::ConstTensor x = {queries.values.data(), queries.rows, queries.columns},
                            weight = {documents.values.data(), documents.rows, documents.columns};
  engine::Team team(model.workers.scheduler());
  engine::multiply_in_place(team, model.f32, x, weight, no_bias.data(), scores);
}

float compare_one(const Internals::Impl& model, const TextVectors& queries, int64_t query,
                  const TextVectors& documents, int64_t document) {
  if (!queries.sparse.empty()) return dot(queries.sparse[query], documents.sparse[document]);
  if (!queries.of_tokens.empty()) {
    const Output &of_query = queries.of_tokens[query], &of_document = documents.of_tokens[document];
    // As in sentence-transformers: a document of which all tokens are left out comes last.
    const float sum = of_document.rows == 0 ? -1e9f : max_sim(of_query, of_document);
    if (!model.retrieval.interaction->is_mean()) return sum;
    return sum / static_cast<float>(std::max<int64_t>(1, of_query.rows));
  }
  return similarity(queries.embeddings.row(query), documents.embeddings.row(document), model.info);
}

}  // namespace

TextVectors vectors_of(const Internals::Impl& model, Role role,
                       std::span<const std::string> texts) {
  if (role == Role::query && model.retrieval.query_table) return look_up(model, texts);
  const std::vector<Encoding> encodings = model.tokenize_for(role, texts);
  TextVectors vectors;
  for (const Encoding& encoding : encodings) {
    vectors.sizes.push_back({static_cast<int32_t>(encoding.ids.size()), encoding.truncated});
  }
  if (model.retrieval.embeds) {
    vectors.embeddings = model.embed(encodings);
    if (model.retrieval.comparison == Comparison::cosine) {
      normalize_rows(
          {vectors.embeddings.values.data(), vectors.embeddings.rows, vectors.embeddings.columns});
    }
  } else if (model.retrieval.sparse) {
    vectors.sparse = model.sparse(encodings);
  } else {
    vectors.of_tokens = model.multi_vector(encodings, role);
  }
  return vectors;
}

void compare(const Internals::Impl& model, const TextVectors& queries, const TextVectors& documents,
             engine::Tensor scores) {
  const Comparison comparison = model.retrieval.comparison;
  const bool multiplies = comparison == Comparison::cosine || comparison == Comparison::dot;
  if (scores.size() == 0) return;
  if (model.retrieval.embeds && multiplies) {
    return multiply(model, queries.embeddings, documents.embeddings, scores);
  }
  constexpr int64_t kAtOnce = 64;  // documents
  const int64_t parts = engine::divide_up(scores.columns, kAtOnce);
  model.workers.for_each(static_cast<size_t>(parts), [&](size_t part) {
    const int64_t begin = static_cast<int64_t>(part) * kAtOnce;
    for (int64_t j = begin; j < std::min(begin + kAtOnce, scores.columns); ++j) {
      for (int64_t i = 0; i < scores.rows; ++i) {
        scores.row(i)[j] = compare_one(model, queries, i, documents, j);
      }
    }
  });
}

}  // namespace models
}  // namespace bert

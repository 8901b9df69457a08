// SPDX-License-Identifier: Apache-2.0
//
// A vector for each token of a query or a document.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "models/calls/for_batches.h"
#include "models/model_impl.h"
#include "models/tasks/on_this_thread.h"

namespace bert {

void Model::Impl::check_interaction(Role role) const {
  if (role != Role::query && role != Role::document) {
    throw Error(fmt::format("unknown role {}", static_cast<int>(role)));
  }
  if (retrieval.interaction) return;
  throw Error(
      fmt::format("the model of {} gives no vectors of tokens: it has neither modules for "
                  "them, nor ColBERT's linear.weight, nor BGE-M3's colbert_linear.pt",
                  checkpoint.path()));
}

std::vector<Encoding> Model::Impl::tokenize(std::span<const Input> inputs, Role role,
                                            const models::ForEach& for_each) const {
  check_interaction(role);
  const auto& side = retrieval.interaction->side(role);
  std::vector<Encoding> encodings =
      tokenizer.impl_->encode_after(side.prompt, side.limit, inputs, for_each);
  for (Encoding& encoding : encodings) retrieval.interaction->finish(role, encoding);
  return encodings;
}

std::vector<Output> Model::Impl::multi_vector(std::span<const Encoding> encodings,
                                              Role role) const {
  check_interaction(role);
  std::vector<Output> output(encodings.size());
  for_batches(encodings, engine::Reads::all,
              [&](const models::Batch& batch, const auto& order, engine::Tensor x,
                  engine::Team& team, Workspace& space) {
                const engine::Tensor vectors = retrieval.token_vectors->run(team, x, space);
                for (int64_t i = 0; i < batch.sequences(); ++i) {
                  const int64_t begin = batch.starts[i];
                  std::vector<int64_t> kept;
                  for (int64_t t = begin; t < batch.starts[i + 1]; ++t) {
                    if (retrieval.interaction->keeps(role, t - begin, batch.ids[t]))
                      kept.push_back(t);
                  }
                  Output& rows = output[order[i]] = {std::ssize(kept), vectors.columns};
                  for (int64_t row = 0; row < rows.rows; ++row) {
                    std::copy_n(vectors.row(kept[row]), vectors.columns, rows.row(row).data());
                  }
                  check_answer(order[i], rows.values);
                }
              });
  return output;
}

std::vector<Output> Model::multi_vector(std::span<const Encoding> encodings, Role role) const {
  return models::guarded([&] { return impl_->multi_vector(encodings, role); });
}
std::vector<Output> Model::multi_vector(std::span<const Input> inputs, Role role) const {
  return models::guarded([&] { return impl_->multi_vector(impl_->tokenize(inputs, role), role); });
}
std::vector<Encoding> Model::tokenize(std::span<const Input> inputs, Role role) const {
  return models::guarded([&] { return impl_->tokenize(inputs, role); });
}

std::vector<Encoding> models::encode_here(const Model& model, std::span<const Input> inputs,
                                          Role role) {
  return guarded([&] { return Internals::impl(model).tokenize(inputs, role, on_this_thread); });
}

}  // namespace bert

// SPDX-License-Identifier: Apache-2.0
//
// Weights of the vocabulary's tokens.
#include <vector>

#include <fmt/format.h>

#include "engine/runtime.h"
#include "models/calls/for_batches.h"
#include "models/model_impl.h"

namespace bert {

std::vector<SparseVector> Model::Impl::sparse(std::span<const Encoding> encodings) const {
  if (!retrieval.sparse) {
    throw Error(
        fmt::format("the model of {} gives no sparse vectors: it has neither SPLADE's "
                    "module nor BGE-M3's sparse_linear.pt",
                    checkpoint.path()));
  }
  std::vector<SparseVector> output(encodings.size());
  for_batches(encodings, engine::Reads::all,
              [&](const models::Batch& batch, const auto& order, engine::Tensor x,
                  engine::Team& team, Workspace& space) {
                const models::Head* mlm = token_head ? &*token_head : nullptr;
                retrieval.sparse->run(batch, x, mlm, config.vocabulary, team, space,
                                      [&](int64_t i, std::span<const float> weights) {
                                        check_answer(order[i], weights);
                                        SparseVector& sparse = output[order[i]];
                                        for (size_t id = 0; id < weights.size(); ++id) {
                                          if (weights[id] == 0) continue;
                                          sparse.ids.push_back(static_cast<int32_t>(id));
                                          sparse.weights.push_back(weights[id]);
                                        }
                                      });
              });
  return output;
}

float dot(const SparseVector& a, const SparseVector& b) {
  for (const SparseVector* each : {&a, &b}) {
    if (each->ids.size() == each->weights.size()) continue;
    throw Error(fmt::format("a sparse vector has {} ids and {} weights, expected as many",
                            each->ids.size(), each->weights.size()));
  }
  const engine::DefaultFloats floats;
  double sum = 0;
  for (size_t i = 0, j = 0; i < a.ids.size() && j < b.ids.size();) {
    if (a.ids[i] == b.ids[j]) {
      sum += static_cast<double>(a.weights[i++]) * b.weights[j++];
    } else {
      ++(a.ids[i] < b.ids[j] ? i : j);
    }
  }
  return floats.settled(static_cast<float>(sum));
}

std::vector<SparseVector> Model::sparse(std::span<const Encoding> encodings) const {
  return models::guarded([&] { return impl_->sparse(encodings); });
}
std::vector<SparseVector> Model::sparse(std::span<const Input> inputs) const {
  return models::guarded([&] { return impl_->sparse(impl_->tokenize(inputs)); });
}

}  // namespace bert

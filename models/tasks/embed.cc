// SPDX-License-Identifier: Apache-2.0
//
// One vector for each input.
#include <algorithm>

#include <fmt/format.h>

#include "models/calls/for_batches.h"
#include "models/model_impl.h"

namespace bert {

Output Model::Impl::embed(std::span<const Encoding> encodings) const {
  if (!retrieval.embeds) {
    throw Error(fmt::format("the model of {} gives no vector of a whole input, but {}",
                            checkpoint.path(),
                            retrieval.sparse ? "sparse ones" : "a vector for each token"));
  }
  Output output(std::ssize(encodings), sentence.columns());
  for_batches(encodings, sentence.reads(),
              [&](const models::Batch& batch, const auto& order, engine::Tensor x,
                  engine::Team& team, Workspace& space) {
                const engine::Tensor rows = sentence.run(batch, sentence.reads(), x, team, space);
                for (int64_t i = 0; i < rows.rows; ++i) {
                  std::copy_n(rows.row(i), output.columns, output.row(order[i]).data());
                }
              });
  check_rows(output);
  return output;
}

Output Model::embed(std::span<const Encoding> encodings) const {
  return models::guarded([&] { return impl_->embed(encodings); });
}
Output Model::embed(std::span<const Input> inputs) const {
  return models::guarded([&] { return impl_->embed(impl_->tokenize(inputs)); });
}

}  // namespace bert

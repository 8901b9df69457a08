// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/answers/retrieval/embeddings.h"

#include <algorithm>
#include <cstdint>

#include "models/directory/inspection.h"
#include "tools/console/vector_math.h"

namespace bert::tools {

bert::Output embed(const bert::Model& model, std::span<const bert::Encoding> encodings,
                   const InferOptions& options) {
  bert::Output all = model.embed(encodings);
  if (options.truncate_dim > 0) {
    bert::Output shorter(all.rows, options.truncate_dim);
    for (int64_t i = 0; i < all.rows; ++i) {
      std::copy_n(all.row(i).data(), shorter.columns, shorter.row(i).data());
    }
    all = std::move(shorter);
  } else if (bert::models::normalizes(model)) {
    return all;  // scaled once more, their last bits could change
  }
  for (int64_t i = 0; options.normalize && i < all.rows; ++i) normalize(all.row(i));
  return all;
}

}  // namespace bert::tools

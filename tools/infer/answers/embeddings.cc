// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/answers/embeddings.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

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
  }
  for (int64_t i = 0; options.normalize && i < all.rows; ++i) {
    double squares = 0;
    for (const float value : all.row(i)) squares += static_cast<double>(value) * value;
    constexpr double kLeast = 1e-12;  // as in torch's normalize
    const double length = std::max(std::sqrt(squares), kLeast);
    for (float& value : all.row(i)) value = static_cast<float>(value / length);
  }
  return all;
}

}  // namespace bert::tools

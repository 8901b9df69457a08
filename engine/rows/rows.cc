// SPDX-License-Identifier: Apache-2.0
#include "engine/rows/rows.h"

#include <algorithm>

#include "engine/kernels/pick_kernels.h"
#include "engine/profile.h"

namespace bert::engine {
namespace {

// Rows per task: enough to outweigh the cost of handing them out.
constexpr int64_t kRowsPerTask = 32;
constexpr int64_t kRowsAhead = 4;

}  // namespace

void for_row_blocks(Team& team, int64_t rows,
                    const std::function<void(int64_t begin, int64_t end)>& body) {
  team.run(divide_up(rows, kRowsPerTask), [&](int64_t block, int) {
    body(block * kRowsPerTask, std::min(rows, (block + 1) * kRowsPerTask));
  });
}

void Norm::run(const float* x, int64_t rows, float* y) const {
  if (!normalises) return scale_and_shift(x, rows, y);
  best_kernels().layer_norm(x, gamma.data(), beta.data(), epsilon, is_centred, rows, gamma.size(),
                            y);
}

void layer_norm(Team& team, ConstTensor x, const Norm& norm, Tensor y) {
  const Timed timed(Step::norm);
  for_row_blocks(team, x.rows, [&](int64_t begin, int64_t end) {
    norm.run(x.row(begin), end - begin, y.row(begin));
  });
}

void embedding_sum(Team& team, const EmbeddingTables& tables, std::span<const int32_t> ids,
                   std::span<const int32_t> positions, std::span<const int32_t> type_ids,
                   Tensor y) {
  const Timed timed(Step::embedding);
  for_row_blocks(team, y.rows, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      // Word embeddings are scattered over a table that is larger than the caches.
      if (t + kRowsAhead < y.rows) tables.word.prefetch(ids[t + kRowsAhead]);
      best_kernels().add3(tables.word.row(ids[t], y.row(t)), tables.position.row(positions[t]),
                          tables.type.row(type_ids[t]), y.columns, y.row(t));
    }
  });
}

}  // namespace bert::engine

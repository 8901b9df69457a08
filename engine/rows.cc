// SPDX-License-Identifier: Apache-2.0
#include "engine/rows.h"

#include <algorithm>
#include <functional>

#include <oneapi/dnnl/dnnl.hpp>
#include <spdlog/spdlog.h>

#include "engine/profile.h"
#include "engine/runtime.h"

namespace bert::engine {
namespace {

// Rows that one thread takes at a time: enough to outweigh handing them out.
constexpr int64_t kRowBlock = 32;

constexpr int64_t kRowsAhead = 4;
void fetch(const float* row, int64_t columns) {
  for (int64_t j = 0; j < columns; j += 16) __builtin_prefetch(row + j);
}

void for_row_blocks(ThreadPool& pool, int64_t rows,
                    const std::function<void(int64_t begin, int64_t end)>& body) {
  pool.run(divide_up(rows, kRowBlock), [&](int64_t block, int) {
    body(block * kRowBlock, std::min(rows, (block + 1) * kRowBlock));
  });
}

const RowKernels& pick_kernels() {
#if defined(__x86_64__)
  using dnnl::cpu_isa;
  const cpu_isa isa = dnnl::get_effective_cpu_isa();
  // Newer sets have higher numbers, each a superset of the one that it extends.
  const auto has = [isa](cpu_isa wanted) {
    return (static_cast<unsigned>(isa) & static_cast<unsigned>(wanted)) ==
           static_cast<unsigned>(wanted);
  };
  if (has(cpu_isa::avx512_core_amx) && avx512_amx::kernels()) return *avx512_amx::kernels();
  if (has(cpu_isa::avx512_core_bf16)) return avx512_bf16::kernels;
  if (has(cpu_isa::avx512_core_vnni)) return avx512_vnni::kernels;
  if (has(cpu_isa::avx512_core)) return avx512::kernels;
  if (has(cpu_isa::avx2_vnni)) return avx2_vnni::kernels;
  if (has(cpu_isa::avx2)) return avx2::kernels;
#endif
  return portable::kernels;
}

}  // namespace

const RowKernels& row_kernels() {
  static const RowKernels& picked = [&]() -> const RowKernels& {
    const RowKernels& kernels = pick_kernels();
    log().debug("row kernels: {}", kernels.name);
    return kernels;
  }();
  return picked;
}

void layer_norm(ThreadPool& pool, ConstTensor x, const Norm& norm, Tensor y) {
  const Timed timed(Step::norm);
  const RowKernels& kernels = row_kernels();
  for_row_blocks(pool, x.rows, [&](int64_t begin, int64_t end) {
    kernels.layer_norm(x.row(begin), norm.gamma.data(), norm.beta.data(), norm.epsilon, end - begin,
                       x.columns, y.row(begin));
  });
}

void embedding_sum(ThreadPool& pool, const EmbeddingTables& tables, std::span<const int32_t> ids,
                   std::span<const int32_t> positions, std::span<const int32_t> type_ids,
                   Tensor y) {
  const Timed timed(Step::embedding);
  const RowKernels& kernels = row_kernels();
  for_row_blocks(pool, y.rows, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      // The rows of words lie anywhere in a table that is larger than the caches.
      if (t + kRowsAhead < y.rows) fetch(tables.word.row(ids[t + kRowsAhead]), y.columns);
      kernels.add3(tables.word.row(ids[t]), tables.position.row(positions[t]),
                   tables.type.row(type_ids[t]), y.columns, y.row(t));
    }
  });
}

}  // namespace bert::engine

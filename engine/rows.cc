// SPDX-License-Identifier: Apache-2.0
#include "engine/rows.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include <oneapi/dnnl/dnnl.hpp>
#include <spdlog/spdlog.h>

#include "engine/instruction_sets.h"
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

#if defined(__x86_64__)
// The sets that are usable and that oneDNN may use too: so ONEDNN_MAX_CPU_ISA governs both.
uint32_t permitted_sets() {
  using dnnl::cpu_isa;
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const struct {
    cpu_isa level;
    uint32_t sets;  // that come with it
  } levels[] = {
      {cpu_isa::sse41, kSse42 | kPopcnt},
      {cpu_isa::avx, kAvx},
      {cpu_isa::avx2, kAvx2 | kFma | kF16c},
      {cpu_isa::avx2_vnni, kAvxVnni},
      {cpu_isa::avx512_core,
       kAvx512F | kAvx512Cd | kAvx512Dq | kAvx512Bw | kAvx512Vl | kAvx512Vbmi2},
      {cpu_isa::avx512_core_vnni, kAvx512Vnni | kAvxVnni},
      {cpu_isa::avx512_core_bf16, kAvx512Bf16},
      {cpu_isa::avx512_core_amx, kAmxTile | kAmxBf16},
  };
  uint32_t permitted = 0;
  for (const auto& [level, sets] : levels) {
    // Newer levels have higher numbers, each a superset of the one that it extends.
    const auto wanted = static_cast<unsigned>(level);
    if ((isa & wanted) == wanted) permitted |= sets;
  }
  return permitted & usable_sets();
}
#endif

// The one place that decides what runs here.
struct Picked {
  std::vector<const RowKernels*> runnable = {&portable::kernels};
  const TileKernels* tiles = nullptr;

  Picked() {
#if defined(__x86_64__)
    const uint32_t permitted = permitted_sets();
    const auto runs = [permitted](const auto* table) { return (table->sets & ~permitted) == 0; };
    std::ranges::copy_if(
        std::initializer_list<const RowKernels*>{&avx2::kernels, &avx2_vnni::kernels,
                                                 &avx512::kernels, &avx512_vnni::kernels,
                                                 &avx512_bf16::kernels},
        std::back_inserter(runnable), runs);
    if (runs(&avx512_amx::tiles)) tiles = &avx512_amx::tiles;
#endif
    log().debug("kernels: {}{}{}", runnable.back()->name, tiles ? ", tiles: " : "",
                tiles ? tiles->name : "");
  }
};
const Picked& picked() {
  static const Picked picked;
  return picked;
}

}  // namespace

const RowKernels& row_kernels() { return *picked().runnable.back(); }
const TileKernels* tile_kernels() { return picked().tiles; }
std::span<const RowKernels* const> runnable_kernels() { return picked().runnable; }

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

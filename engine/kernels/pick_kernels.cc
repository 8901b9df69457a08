// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/pick_kernels.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>
#include <spdlog/spdlog.h>

#include "engine/kernels/instruction_sets.h"
#include "engine/runtime.h"

namespace bert::engine {
namespace {

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

}  // namespace bert::engine

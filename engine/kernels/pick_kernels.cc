// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/pick_kernels.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>
#include <spdlog/spdlog.h>

#include "engine/kernels/instruction_sets.h"
#include "engine/runtime.h"

namespace bert::engine {
namespace {

// The sets that oneDNN may use, so that ONEDNN_MAX_CPU_ISA limits this library too.
uint32_t permitted_sets() {
#if defined(__x86_64__)
  using dnnl::cpu_isa;
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const struct {
    cpu_isa level;
    uint32_t sets;  // added by the level
  } levels[] = {
      {cpu_isa::sse41, kSse42 | kPopcnt},
      {cpu_isa::avx, kAvx},
      {cpu_isa::avx2, kAvx2 | kFma | kF16c},
      {cpu_isa::avx2_vnni, kAvxVnni},
      {cpu_isa::avx512_core,
       kAvx512F | kAvx512Cd | kAvx512Dq | kAvx512Bw | kAvx512Vl | kAvx512Vbmi2},
      {cpu_isa::avx512_core_vnni, kAvx512Vnni | kAvxVnni},
      {cpu_isa::avx512_core_bf16, kAvx512Bf16},
      {cpu_isa::avx512_core_amx, kAmxTile | kAmxInt8 | kAmxBf16},
  };
  uint32_t permitted = 0;
  for (const auto& [level, sets] : levels) {
    // A level's bits include those of every level that it extends.
    const auto bits = static_cast<unsigned>(level);
    if ((isa & bits) == bits) permitted |= sets;
  }
  return permitted;
#else
  return 0;
#endif
}

std::string names_of(uint32_t sets) {
  std::string names;
  for (int i = 0; i < kInstructionSets; ++i) {
    const uint32_t set = sets & 1u << i;
    if (set == 0) continue;
    if (!names.empty()) names += ' ';
    names += name_of(static_cast<InstructionSet>(set));
  }
  return names.empty() ? "none" : names;
}

struct Picked {
  std::vector<const KernelTable*> runnable = {&portable::kernels};

  Picked() {
    const uint32_t found = usable_sets(), permitted = permitted_sets() & found;
#if defined(__x86_64__)
    const auto runs = [permitted](const auto* table) { return (table->sets & ~permitted) == 0; };
    std::ranges::copy_if(
        std::initializer_list<const KernelTable*>{&avx2::kernels, &avx2_vnni::kernels,
                                                  &avx512::kernels, &avx512_vnni::kernels,
                                                  &avx512_bf16::kernels, &amx::kernels},
        std::back_inserter(runnable), runs);
#endif
    log().info("instruction sets: {}", names_of(found));
    if (const uint32_t excluded = found & ~permitted; excluded != 0) {
      const char* limit = std::getenv("ONEDNN_MAX_CPU_ISA");
      log().info("not used: {} (ONEDNN_MAX_CPU_ISA is {})", names_of(excluded),
                 limit ? limit : "not set, but this oneDNN does not know them");
    }
    log().info("kernels: {}", runnable.back()->name);
  }
};
const Picked& picked() {
  static const Picked& picked = *new Picked;  // also used by threads at exit
  return picked;
}

}  // namespace

const KernelTable& best_kernels() { return *picked().runnable.back(); }

std::span<const KernelTable* const> runnable_kernels() { return picked().runnable; }

}  // namespace bert::engine

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/kernels/instruction_sets.h"
#include "engine/kernels/kernel_table.h"
#include "engine/kernels/pick_kernels.h"

namespace bert::engine {

namespace amx_emulated {
extern const KernelTable kernels;  // as amx's, on tiles in memory (emulated_tiles.h)
}

// Every table that may run here, and AMX's with emulated tiles where vectors allow it.
inline std::vector<const KernelTable*> tested_kernels() {
  std::vector<const KernelTable*> tables(runnable_kernels().begin(), runnable_kernels().end());
#if defined(__x86_64__)
  const uint32_t needed = amx_emulated::kernels.sets & ~(kAmxTile | kAmxInt8 | kAmxBf16);
  if ((needed & ~usable_sets()) == 0) tables.push_back(&amx_emulated::kernels);
#endif
  return tables;
}

}  // namespace bert::engine

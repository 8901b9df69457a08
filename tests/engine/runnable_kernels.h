// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "engine/row_kernels.h"

namespace bert::engine {

namespace avx512_emulated {
// As avx512_amx's, on tiles in memory (tests/engine/emulated_tiles.h).
const RowKernels* kernels();
}  // namespace avx512_emulated

// Every kernel table that this machine can run.
inline std::vector<const RowKernels*> runnable_kernels() {
  std::vector<const RowKernels*> tables = {&portable::kernels};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    tables.push_back(&avx2::kernels);
  }
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    tables.push_back(&avx512::kernels);
    if (__builtin_cpu_supports("avx512vnni")) tables.push_back(&avx512_vnni::kernels);
    if (__builtin_cpu_supports("avx512bf16")) tables.push_back(&avx512_bf16::kernels);
  }
  unsigned eax = 0, ebx, ecx, edx;  // Clang 14 has no name for AVX-VNNI
  if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax >> 4 & 1)) {
    tables.push_back(&avx2_vnni::kernels);
  }
#endif
  return tables;
}

// Those of which this machine can run matmul_split.
inline std::vector<const RowKernels*> tile_kernels() {
  std::vector<const RowKernels*> tables;
#if defined(__x86_64__)
  for (const RowKernels* table : {avx512_amx::kernels(), avx512_emulated::kernels()}) {
    if (table) tables.push_back(table);
  }
#endif
  return tables;
}

}  // namespace bert::engine

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "engine/row_kernels.h"

namespace bert::engine {

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
  if (__builtin_cpu_supports("avxvnni")) tables.push_back(&avx2_vnni::kernels);
#endif
  return tables;
}

}  // namespace bert::engine

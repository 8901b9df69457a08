// SPDX-License-Identifier: Apache-2.0
//
// What the files that call oneDNN share.
#pragma once

#include <cstdint>
#include <shared_mutex>

#include <oneapi/dnnl/dnnl.hpp>

#include "engine/kernels/kernel_table.h"

namespace bert::engine {

dnnl::engine& onednn_cpu();

// Held shared to look up kernels that oneDNN has generated; exclusively to generate more and while
// forking, so that no thread that the child lacks holds this or a lock of oneDNN's own.
std::shared_mutex& generated_mutex();

// Instruction sets that oneDNN may use here: those of the processor, up to ONEDNN_MAX_CPU_ISA. Each
// level includes the ones before it.
enum class OneDnnLevel { avx2, avx512, avx512_vnni };
bool can_use(OneDnnLevel level);

// The types that a precision is multiplied in, and how many inputs a word holds.
struct OneDnnTypes {
  dnnl::memory::data_type inputs, weights, sums;
  int64_t per_word;
};
OneDnnTypes onednn_types(Precision precision);

// While it lives, oneDNN computes this thread's calls on this thread alone: parallelism is ours, as
// oneDNN's own threads would spin between calls.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace bert::engine

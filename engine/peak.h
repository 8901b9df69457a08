// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/kernels/row_kernels.h"
#include "engine/thread_pool.h"

namespace bert::engine {

// What the machine can do at this moment, to measure speeds against.

// Operations/s of oneDNN's matmul in this precision (int8: u8 by s8), 1024 x 1024 x 1024 on each
// thread at once, again and again on the same data: the best of several. Where the machine has no
// instructions for bf16, oneDNN may have no such matmul: then f32's.
double matmul_peak(ThreadPool& pool, Precision precision);
// Bytes/s that the threads together read from memory, out of all caches: the best of several.
double read_bandwidth(ThreadPool& pool);

}  // namespace bert::engine

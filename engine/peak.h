// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/thread_pool.h"

namespace bert::engine {

// What the machine can do at this moment, to measure speeds against.

// FLOP/s of oneDNN's f32 matmul, 1024 x 1024 x 1024 on each thread at once, again and again on the
// same data: the best of several.
double matmul_peak(ThreadPool& pool);
// Bytes/s that the threads together read from memory, out of all caches: the best of several.
double read_bandwidth(ThreadPool& pool);

}  // namespace bert::engine

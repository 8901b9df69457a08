// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/kernels/kernel_table.h"
#include "engine/threads/team.h"

namespace bert::engine {

// What the machine can do at this moment, as a yardstick for speeds.

// Operations/s of oneDNN's matmul in this precision (int8: u8 by s8): the best of several runs of
// 1024 x 1024 x 1024 on every thread at once, repeated on the same data. If oneDNN has no bf16
// matmul for this machine, its f32 one.
double matmul_peak(Team& team, Precision precision);
// Operations/s of multiply-adds in registers, on each thread at once: the best of several runs. In
// f32, and where there are matrix tiles, in all precisions; otherwise 0.
double multiply_add_peak(Team& team, Precision precision);
// Bytes/s that the threads together read from memory, beyond all caches: the best of several runs.
double read_bandwidth(Team& team);

}  // namespace bert::engine

// SPDX-License-Identifier: Apache-2.0
//
// The one place that decides which kernel tables run: what the processor and the system offer, and
// ONEDNN_MAX_CPU_ISA permits.
#pragma once

#include <span>

#include "engine/kernels/row_kernels.h"

namespace bert::engine {

// The best that this machine can run; both are picked once.
const RowKernels& row_kernels();
const TileKernels* tile_kernels();  // or null

// Every table that this build has and this machine can run, the best last.
std::span<const RowKernels* const> runnable_kernels();

}  // namespace bert::engine

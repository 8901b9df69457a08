// SPDX-License-Identifier: Apache-2.0
//
// The one place that decides which kernel tables run: the best that the processor, the system and
// ONEDNN_MAX_CPU_ISA allow.
#pragma once

#include <span>

#include "engine/kernels/kernel_table.h"

namespace bert::engine {

// The best table, picked once.
const KernelTable& best_kernels();

// Every table of this build that may run here, the best last.
std::span<const KernelTable* const> runnable_kernels();

}  // namespace bert::engine

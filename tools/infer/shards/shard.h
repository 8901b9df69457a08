// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace bert::tools {

// The share of an input that one of several processes answers: every count-th line, from `index`
// on.
struct Shard {
  int64_t index = 0, count = 1;

  bool takes(int64_t line) const { return line % count == index; }  // which counts from 0
};

// "2/8" is the third of eight; "slurm/8" is that of SLURM_ARRAY_TASK_ID in the environment, and
// "slurm" is what that and its like say. Throws UsageError.
Shard parse_shard(const std::string& text);

}  // namespace bert::tools

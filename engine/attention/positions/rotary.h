// SPDX-License-Identifier: Apache-2.0
//
// Rotary position embeddings (Su et al. 2021): queries and keys are rotated by angles that grow
// with their positions, so that their products depend on the distance.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/tensor.h"
#include "engine/threads/team.h"

namespace bert::engine {

class Rotary {
 public:
  // frequencies: [D / 2] in radians per position, for positions below `positions`.
  Rotary(std::vector<float> frequencies, int64_t positions);

  // Rotates the first `heads` heads in qkv [T, …], which are those of queries and keys. In a head
  // of width D, angle d rotates the pair of elements d and d + D / 2 ("half-split").
  void run(Team& team, std::span<const int32_t> starts, int heads, Tensor qkv) const;

 private:
  // Of so many positions at a time, made for the first input that is long enough: models allow for
  // far more positions than most inputs have.
  static constexpr int64_t kPositions = 256;
  struct Table {
    std::once_flag once;
    Buffer cosines, sines;  // [kPositions, D / 2]
  };
  const Table& table(int64_t index) const;

  std::vector<float> frequencies_;  // [D / 2]
  std::unique_ptr<Table[]> tables_;
};

// theta^(-2 d / D) for d below D / 2, in float32 as the published models compute it: at large
// positions, the angles depend on its rounding.
std::vector<float> rotary_frequencies(double theta, int64_t width);

}  // namespace bert::engine

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/attention/attention.h"
#include "engine/tensor.h"
#include "engine/threads/team.h"
#include "models/config/config.h"
#include "models/weights/checkpoint.h"

namespace bert::models {

// What LFM2's layers without attention have in its place (Liquid AI 2025): each column of the
// sequence is convolved with a few taps of its own, between two gates. The three parts of `states`
// [T, 3H], where attention has queries, keys and values, are the gates and what is convolved:
//   context = out * convolution(in * values)
class ShortConvolution {
 public:
  ShortConvolution(Checkpoint& checkpoint, const std::string& layer, const Config& config);

  // starts and context: as for engine::attention(), as are the options' `reads` and `attended`;
  // what cannot be attended to is convolved as zeros, and its context is zeros.
  void run(engine::Team& team, engine::ConstTensor states, std::span<const int32_t> starts,
           const engine::AttentionOptions& options, engine::Tensor context) const;

 private:
  // Adds row t [H] of a sequence's context. states: of its tokens that can be attended to.
  void convolve(engine::ConstTensor states, int64_t t, int64_t hidden, float* to) const;

  int64_t taps_, before_;   // how many, and how many tokens before its own a token reaches
  engine::Buffer weights_;  // [taps, H]
};

}  // namespace bert::models

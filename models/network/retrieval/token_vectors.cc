// SPDX-License-Identifier: Apache-2.0
#include "models/network/retrieval/token_vectors.h"

#include <optional>

#include "models/network/build/build_parts.h"
#include "models/network/pooling.h"

namespace bert::models {

TokenVectors::TokenVectors(const TokenSettings& settings, const Config& config,
                           Checkpoint& checkpoint, const engine::Product& f32, engine::Team& team)
    : normalizes_(settings.normalizes), columns_(config.output) {
  for (const SentenceModules::Dense& dense : settings.dense) {
    dense_.push_back(read_dense_module(dense, f32, team));
  }
  if (settings.source == TokenSettings::Source::file) {
    dense_.push_back({read_linear_file(settings.file, config.output, std::nullopt, f32, team)});
  } else if (settings.source == TokenSettings::Source::checkpoint) {
    constexpr const char* kName = "linear";  // Stanford ColBERT's name for it
    const int64_t columns = checkpoint.first_dimension(std::string(kName) + ".weight");
    dense_.push_back({read_linear(checkpoint, {{kName}, columns, config.output, false},
                                  engine::Activation::none, f32, team)});
  }
  if (!dense_.empty()) columns_ = dense_.back().linear.columns();
}

engine::Tensor TokenVectors::run(engine::Team& team, engine::ConstTensor x,
                                 Workspace& space) const {
  const engine::Tensor y =
      dense_.empty() ? copy(team, x, space.transformed) : run_in_turn(dense_, team, x, space);
  if (normalizes_) normalize_rows(y);
  return y;
}

}  // namespace bert::models

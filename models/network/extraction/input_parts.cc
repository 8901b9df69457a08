// SPDX-License-Identifier: Apache-2.0
#include "models/network/extraction/input_parts.h"

#include <algorithm>

namespace bert::models {

std::vector<engine::Linear> read_input_parts(Checkpoint& checkpoint, const std::string& name,
                                             int64_t columns, int64_t width, int64_t parts,
                                             const engine::Product& f32, engine::Team& team) {
  const Weight weight = checkpoint.finite_matrix(name + ".weight", columns, parts * width);
  const engine::Buffer bias = checkpoint.vector(name + ".bias", columns), none(columns);
  std::vector<engine::Linear> linears;
  for (int64_t i = 0; i < parts; ++i) {
    engine::Buffer part(columns * width);
    for (int64_t row = 0; row < columns; ++row) {
      std::copy_n(weight.view.row(row) + i * width, width, part.data() + row * width);
    }
    const engine::Linear::Part packed{{part.data(), columns, width}, (i == 0 ? bias : none).data()};
    linears.emplace_back(team, std::span(&packed, 1), engine::Activation::none, f32);
  }
  return linears;
}

}  // namespace bert::models

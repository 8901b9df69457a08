// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "models/bert_infer.h"

namespace bert::tools {

// Principal components: the directions in which vectors differ most.
struct Projection {
  bert::Output coordinates;    // [N, components], largest variance first
  std::vector<double> shares;  // [components]: of all variance
};
// At most `components` of them: fewer if the vectors have fewer directions.
Projection principal_components(const bert::Output& vectors, int components);

struct Neighbour {
  int64_t index = 0;
  float similarity = 0;  // cosine
};
// Of each vector, the `count` most similar others, the most similar first. [N]
std::vector<std::vector<Neighbour>> nearest_neighbours(const bert::Output& vectors, size_t count);

}  // namespace bert::tools

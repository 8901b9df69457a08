// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/bert_infer.h"

namespace bert::models {

// How sentence-transformers' CrossEncoder turns the logit of a model with one label into a score:
// unlike info().scores, whatever the problem_type.
Scores pair_scores(const Model& model);

}  // namespace bert::models

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "models/network/batch.h"

namespace bert::models {

// Inputs on which int8 is calibrated, always the same ones for the same model: sentence pairs as
// the model's tokenizer encodes them, and random tokens from the whole vocabulary, as models know
// different languages. By measurement, either kind alone is nearly as good.
using EncodePair = std::function<Encoding(const char* first, const char* second)>;
Batch example_batch(const EncodePair& encode, const Config& config);

}  // namespace bert::models

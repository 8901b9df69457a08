// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "models/bert_infer.h"
#include "tools/infer/options/infer_options.h"

namespace bert::tools {

// Embeddings as --truncate-dim and --normalize ask for them, in this order, as in
// sentence-transformers.
bert::Output embed(const bert::Model& model, std::span<const bert::Encoding> encodings,
                   const InferOptions& options);

}  // namespace bert::tools

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "models/bert_infer.h"
#include "tools/infer/options/infer_options.h"

namespace bert::tools {

// The most probable labels, as --top-k and --threshold ask for them: appended to a JSON object,
// ', "labels": [...]', and for people.
void append_ranked(std::string& line, std::span<const float> logits, const bert::Info& info,
                   const InferOptions& options);
std::string ranked_text(std::span<const float> logits, const bert::Info& info,
                        const InferOptions& options);

// "LABEL 0.1234", after a comma if it is not the first.
void append_score(std::string& text, const std::string& label, float score);

}  // namespace bert::tools

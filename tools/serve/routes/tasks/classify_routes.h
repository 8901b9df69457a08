// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/serve/routes/route.h"

namespace bert::tools::serve {

inline constexpr Field kRawScoresField = {"raw_scores", FieldType::flag,
                                          "Whether scores are logits rather than probabilities.",
                                          false, "false"};

inline constexpr Field kClassificationTask[] = {
    {"inputs", FieldType::any, "", true},
    {"top_k", FieldType::count, "How many of the best labels to return. Without it, all."},
    {"function_to_apply", FieldType::text,
     "What makes scores of logits: softmax, sigmoid or none. Without it, as config.json has it."},
    kRawScoresField,
    kTruncateFields[0],
    kTruncateFields[1],
    kModelField,
};

inline constexpr Field kZeroShotTask[] = {
    {"inputs", FieldType::some_text, "", true},
    {"candidate_labels", FieldType::some_text, "An array, or a text with commas.", true},
    {"hypothesis_template", FieldType::text, "What a label is put into, for {}.", false,
     "\"This example is {}.\""},
    {"multi_label", FieldType::flag, "Whether each label is scored by itself.", false, "false"},
    kTruncateFields[0],
    kModelField,
};

// In the shapes of Hugging Face's inference API.
Work classification_work(const Call& call, const ServedModel& model);
Work zero_shot_work(const Call& call, const ServedModel& model);

}  // namespace bert::tools::serve

// SPDX-License-Identifier: Apache-2.0
//
// Tasks that answer with parts of the text, in the shapes of Hugging Face's inference API.
#pragma once

#include "tools/serve/routes/route.h"

namespace bert::tools::serve {

inline constexpr Field kTagTask[] = {
    {"inputs", FieldType::some_text, "", true},
    {"aggregation_strategy", FieldType::text,
     "How tokens become entities: none, simple, first, average or max.", false, "\"simple\""},
    {"ignore_labels", FieldType::texts, "Labels that are left out; \"O\" must be one of them."},
    {"stride", FieldType::whole, "Tokens by which the windows of a long text overlap.", false,
     "128"},
    {"candidate_labels", FieldType::texts, "What a GLiNER model looks for."},
    {"threshold", FieldType::fraction, "An entity's score must be greater than this.", false,
     "0.5"},
    {"nested", FieldType::flag, "Whether such entities may lie within each other.", false, "false"},
    {"multi_label", FieldType::flag, "Whether a span may have several labels.", false, "false"},
    kModelField,
};

inline constexpr Field kAnswerTask[] = {
    {"inputs", FieldType::any, "", true},
    {"top_k", FieldType::count, "How many of the best answers to return, in an array if over 1.",
     false, "1"},
    {"doc_stride", FieldType::whole, "Tokens by which the windows of a long context overlap.",
     false, "128"},
    {"max_answer_len", FieldType::whole, "Tokens of an answer, at most.", false, "15"},
    {"max_question_len", FieldType::whole, "Is refused: windows are as long as the model allows."},
    {"max_seq_len", FieldType::whole, "Is refused: windows are as long as the model allows."},
    {"handle_impossible_answer", FieldType::flag,
     "Whether the answer may be empty, where that is the likeliest.", false, "false"},
    {"align_to_words", FieldType::flag, "true, as answers are whole words.", false, "true"},
    kModelField,
};

inline constexpr Field kFillMaskTask[] = {
    {"inputs", FieldType::some_text, "", true},
    {"top_k", FieldType::count, "Tokens for each mask.", false, "5"},
    {"targets", FieldType::some_text, "The tokens to choose among. Without them, the vocabulary."},
    kTruncateFields[0],
    kTruncateFields[1],
    kModelField,
};

Work tag_work(const Call& call, const ServedModel& model);
Work answer_work(const Call& call, const ServedModel& model);
Work fill_mask_work(const Call& call, const ServedModel& model);

}  // namespace bert::tools::serve

// SPDX-License-Identifier: Apache-2.0
//
// Answers of the C++ API, kept in a bert_result beside arrays of structs that point into them.
#pragma once

#include <vector>

#include "models/c_api/boundary/c_call.h"

namespace bert::c_api {

const bert_matrix* keep_matrix(bert_result& owner, Output matrix);
const bert_matrix* keep_matrices(bert_result& owner, std::vector<Output> matrices);
const bert_hidden* keep_hidden(bert_result& owner, std::vector<Hidden> answers);
const bert_attention* keep_attention(bert_result& owner, std::vector<Attention> answers);
const bert_blanks* keep_blanks(bert_result& owner, std::vector<std::vector<Blank>> answers);
const bert_tags* keep_tags(bert_result& owner, std::vector<Tags> answers);
const bert_answer* keep_answers(bert_result& owner, std::vector<Answer> answers);
const bert_choice* keep_choices(bert_result& owner, std::vector<Choice> answers);
const bert_encoding* keep_encodings(bert_result& owner, std::vector<Encoding> encodings);
const bert_sparse_vector* keep_sparse(bert_result& owner, std::vector<SparseVector> answers);

}  // namespace bert::c_api

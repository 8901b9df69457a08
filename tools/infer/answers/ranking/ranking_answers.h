// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tools/infer/answers/answer_writer.h"
#include "tools/infer/answers/answers.h"

namespace bert::tools {

std::unique_ptr<Answers> make_rank_answers(const InferOptions& options, const LoadedModel& loaded);
// Reads --corpus, and computes its vectors. A bad line of it is a std::runtime_error.
std::unique_ptr<Answers> make_search_answers(const InferOptions& options,
                                             const LoadedModel& loaded);

}  // namespace bert::tools

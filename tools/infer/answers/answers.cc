// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/answers/answers.h"

#include <stdexcept>

namespace bert::tools {

std::unique_ptr<Answers> make_answers(const InferOptions& options, const LoadedModel& loaded) {
  if (auto answers = make_logits_answers(options, loaded)) return answers;
  if (auto answers = make_row_answers(options, loaded)) return answers;
  if (auto answers = make_layer_answers(options, loaded)) return answers;
  if (auto answers = make_retrieval_answers(options, loaded)) return answers;
  if (auto answers = make_text_answers(options, loaded)) return answers;
  throw std::logic_error("a task without answers");
}

}  // namespace bert::tools

// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/inputs/task_inputs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tools/infer/task_table.h"

namespace bert::tools {

void Window::add(bert::Encoding encoding) {
  tokens += std::max<int64_t>(1, std::ssize(encoding.ids));
  encodings.push_back(std::move(encoding));
}

InputMaker::InputMaker(const InferOptions& options, const LoadedModel& loaded)
    : options_(options), loaded_(loaded), kind_(traits(loaded.task).input) {}

Window InputMaker::from_arguments() const {
  const std::vector<std::string>& arguments = options_.arguments;
  if (takes_many_arguments(kind_)) return many_from_arguments();
  bert::Input text = {arguments[0]};
  if (arguments.size() > 1) text.second = arguments[1];
  const bool takes_more = loaded_.task == Task::multi_vector || loaded_.task == Task::tokens;
  if (kind_ != InputKind::sequence || takes_more) return of_other(text);
  Window window;
  window.add(loaded_.tokenizer.encode(text));
  window.sources.emplace_back();
  return window;
}

}  // namespace bert::tools

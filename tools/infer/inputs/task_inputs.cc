// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/inputs/task_inputs.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "tools/console/lines/input_lines.h"
#include "tools/infer/task_table.h"

namespace bert::tools {

void Window::add(bert::Encoding encoding) {
  tokens += std::max<int64_t>(1, std::ssize(encoding.ids));
  encodings.push_back(std::move(encoding));
}

InputMaker::InputMaker(const InferOptions& options, const LoadedModel& loaded)
    : options_(options), loaded_(loaded), kind_(traits(loaded.task).input) {}

std::vector<bert::Encoding> InputMaker::encode(std::span<const bert::Input> texts) const {
  if (loaded_.task == Task::multi_vector) return encode_as(options_.role, texts);
  const bert::Tokenizer& tokenizer = loaded_.tokenizer;
  return tokenizer.encode(texts, options_.load.threads * std::max(1, options_.load.workers));
}

void InputMaker::add_texts(std::span<bert::Input> texts, std::span<Source> sources,
                           Window& window) const {
  if (kind_ == InputKind::sequence) {
    for (bert::Encoding& encoding : encode(texts)) window.add(std::move(encoding));
    if (loaded_.task == Task::tokens) add_strings(texts, window);
  } else {
    add_other_texts(texts, window);
  }
  for (Source& source : sources) window.sources.push_back(std::move(source));
}

Window InputMaker::from_arguments() const {
  const std::vector<std::string>& arguments = options_.arguments;
  if (kind_ == InputKind::choices) return choices_from_arguments();
  bert::Input text = {arguments[0]};
  if (arguments.size() > 1) text.second = arguments[1];
  if (kind_ != InputKind::sequence) check(text);
  Source source;
  Window window;
  try {
    add_texts({&text, 1}, {&source, 1}, window);
  } catch (const bert::Error& error) {
    throw std::runtime_error(std::string(reason_alone(error.what())));
  }
  return window;
}

}  // namespace bert::tools

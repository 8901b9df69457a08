// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/session.h"

#include <string_view>
#include <utility>

#include "tools/console/input_lines.h"
#include "tools/infer/answers/numbers.h"

namespace bert::tools {

Session::Session(Answers& answers, AnswerWriter& writer, std::string input_name, Progress& progress)
    : answers_(answers), writer_(writer), input_name_(std::move(input_name)), progress_(progress) {}

// Finds a bad input (an id that is not in the vocabulary, ...) by halving.
void Session::answer(const Window& window, size_t first, size_t count) {
  try {
    answers_.compute(window, first, count);
  } catch (const bert::Error& error) {
    const size_t half = count / 2;
    if (half == 0) throw bad_input(window.lines[first], reason_alone(error.what()));
    answer(window, first, half);
    answer(window, first + half, count - half);
    return;
  }
  write(window, first, count);
}

void Session::write(const Window& window, size_t first, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    try {
      writer_.write(progress_.inputs, answers_, i);
    } catch (const NonFinite& error) {
      throw bad_input(window.lines[first + i], error.what());
    }
    const auto [tokens, truncated] = answers_.size(i);
    ++progress_.inputs;
    progress_.tokens += tokens;
    progress_.truncated += truncated ? 1 : 0;
  }
}

std::runtime_error Session::bad_input(int64_t line, std::string_view reason) const {
  return std::runtime_error(input_name_.empty() ? std::string(reason)
                                                : line_error(input_name_, line, reason));
}

}  // namespace bert::tools

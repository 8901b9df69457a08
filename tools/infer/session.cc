// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/session.h"

#include <string_view>
#include <utility>

#include "models/calls/guarded.h"
#include "tools/console/numbers.h"

namespace bert::tools {

Session::Session(Answers& answers, AnswerWriter& writer, std::string input_name, bool skips_errors,
                 Progress& progress)
    : answers_(answers),
      writer_(writer),
      input_name_(std::move(input_name)),
      skips_errors_(skips_errors),
      progress_(progress) {}

void Session::answer(const Window& window) {
  refused_ = window.refused;
  if (const size_t count = window.sources.size(); count > 0) answer(window, 0, count);
  write_refused(window.sources.size());
}

void Session::answer(const Window& window, size_t first, size_t count) {
  try {
    answers_.compute(window, first, count);
  } catch (const models::OutOfMemory&) {
    throw;  // which is no mistake of an input's
  } catch (const bert::Error& error) {
    return find_bad_input(window, first, count, error);
  }
  write(window, first, count);
}

void Session::write(const Window& window, size_t first, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const Source& source = window.sources[first + i];
    write_refused(first + i);
    try {
      writer_.write({source.index, source.kept, source.text}, answers_, i);
    } catch (const NonFinite& error) {
      refuse(source, error.what());
      continue;
    }
    const auto [tokens, truncated] = answers_.size(i);
    ++progress_.inputs;
    progress_.tokens += tokens;
    progress_.truncated += truncated ? 1 : 0;
  }
}

}  // namespace bert::tools

// SPDX-License-Identifier: Apache-2.0
//
// What a Session does about lines that are no inputs.
#include <stdexcept>
#include <string>

#include "tools/console/lines/input_lines.h"
#include "tools/infer/session.h"

namespace bert::tools {

// Finds an input that the library refuses, such as one with an unknown id, by halving.
void Session::find_bad_input(const Window& window, size_t first, size_t count,
                             const bert::Error& error) {
  if (const size_t half = count / 2; half > 0) {
    answer(window, first, half);
    answer(window, first + half, count - half);
  } else {
    write_refused(first);
    refuse(window.sources[first], reason_alone(error.what()));
  }
}

// Those that stand before an input of the window.
void Session::write_refused(size_t before) {
  for (; !refused_.empty() && refused_.front().before <= before; refused_ = refused_.subspan(1)) {
    refuse(refused_.front().source, refused_.front().reason);
  }
}

void Session::refuse(const Source& source, std::string_view reason) {
  if (input_name_.empty()) throw std::runtime_error(std::string(reason));
  const std::string error = line_error(input_name_, source.line, reason);
  if (!skips_errors_) throw std::runtime_error(error);
  writer_.write_error({source.index, source.kept}, source.line, reason);
  if (progress_.skipped++ == 0) progress_.first_error = error;
}

}  // namespace bert::tools

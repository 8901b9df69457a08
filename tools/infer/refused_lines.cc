// SPDX-License-Identifier: Apache-2.0
//
// What a Session does about lines that are no inputs.
#include <stdexcept>
#include <string>

#include "tools/console/input_lines.h"
#include "tools/infer/session.h"

namespace bert::tools {

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
  writer_.write_error({progress_.lines(), source.kept}, source.line, reason);
  if (progress_.skipped++ == 0) progress_.first_error = error;
}

}  // namespace bert::tools

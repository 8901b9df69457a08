// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "tokenizer/unicode/printable.h"

namespace bert::tools::serve {

// Why a request is refused. Each dialect has its own status and spelling for it.
enum class Refusal {
  syntax,        // the body is no JSON
  empty,         // nothing to compute
  validation,    // a field that is missing, unknown, of the wrong type or out of range
  unauthorized,  // a wrong key, or none
  no_route,      // at this path
  no_model,      // of this name
  method,        // not for this route
  too_large,     // the body
  backend,       // the model cannot do this, or failed
  overloaded,    // as many requests as allowed are already being answered
  loading,       // the models are not ready yet
  stopping,      // the server answers what it accepted, and nothing more
  deadline,      // the time for a request has passed
  cancelled,     // nobody waits for the answer any more
  transport,     // HTTP itself; with a status of its own
  internal,      // a mistake of this program
};

class RequestError : public std::runtime_error {
 public:
  // `what` may quote a request's text with a zero byte, at which what() would end.
  RequestError(Refusal refusal, const std::string& what, std::string field_name = "")
      : std::runtime_error(tokenizer::printable(what)),
        why(refusal),
        field(std::move(field_name)) {}

  Refusal why;
  std::string field;  // of the body, or ""
  int status = 0;     // for transport
};

[[noreturn]] inline void refuse_field(const std::string& field, const std::string& reason) {
  throw RequestError(Refusal::validation, "`" + field + "` " + reason, field);
}

}  // namespace bert::tools::serve

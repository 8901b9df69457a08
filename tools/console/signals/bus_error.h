// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bert::tools {

// From now on, SIGBUS ends the process with 1 and a sentence that names the mapped file: one that
// is truncated while it is in use cannot be read any more. program: begins the sentence; must stay.
void report_bus_errors(const char* program);

}  // namespace bert::tools

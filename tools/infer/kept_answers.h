// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

#include "tools/console/output_file.h"
#include "tools/console/progress.h"
#include "tools/console/signals/stop.h"
#include "tools/infer/answers/answer_writer.h"

namespace bert::tools {

// Whatever went wrong, the answers so far can be read. Returns the file that has them, if it is not
// the output itself. writer: or null.
enum class Written { so_far, cut, whole };  // cut: by a failure to write
std::string keep_answers(OutputFile& output, AnswerWriter* writer, Written written,
                         const Progress& progress);

// Adds to the error's message where the answers were kept, if they were.
[[noreturn]] void rethrow_with(const std::exception_ptr& error, const std::string& kept);

// Says where the answers so far are, and ends the process by the signal that stopped it.
void end_by_signal(const Stop& stop, const std::string& kept);

}  // namespace bert::tools

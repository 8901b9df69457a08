// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "models/bert_infer.h"
#include "tools/console/output_file.h"
#include "tools/infer/options/infer_options.h"

namespace bert::tools {

// With --resume, whether an earlier run has written the whole output. Says so.
bool is_done(const InferOptions& options);

// The first line that is to be answered, counted from 0. With --resume it is the one after the last
// that an interrupted run has answered; its file is cut after its last whole answer. Throws
// std::runtime_error where the file is not one that these options would have begun.
int64_t find_first_line(const InferOptions& options, Task task, const bert::Info& info,
                        OutputFile& output);

}  // namespace bert::tools

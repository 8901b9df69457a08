// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tools/console/lines/input_lines.h"
#include "tools/console/progress.h"
#include "tools/console/signals/stop.h"
#include "tools/infer/inputs/task_inputs.h"
#include "tools/infer/loaded_model.h"
#include "tools/infer/options/infer_options.h"
#include "tools/infer/session.h"

namespace bert::tools {

// Answers the lines of a file from the index `first` on, many at a time, until its end or a signal.
void answer_lines(const InputFile& input, const InputMaker& maker, const InferOptions& options,
                  const LoadedModel& loaded, int64_t first, const Stop& stop, Session& session,
                  Progress& progress);

// Logs how many inputs were answered, how fast, and how.
void report(const Progress& progress, const LoadedModel& loaded, const bert::Options& load);

}  // namespace bert::tools

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tools/console/output_file.h"
#include "tools/infer/answers/answer_writer.h"
#include "tools/infer/loaded_model.h"
#include "tools/infer/options/infer_options.h"

namespace bert::tools {

// For --html: the answers to some inputs as one page. The arguments must outlive the writer.
std::unique_ptr<AnswerWriter> make_page_writer(const LoadedModel& loaded, OutputFile& file);

// For --projector: `file` is its vectors.tsv, beside which metadata.tsv and index.html are written
// at the end.
std::unique_ptr<AnswerWriter> make_projector_writer(const InferOptions& options,
                                                    const LoadedModel& loaded, OutputFile& file);

}  // namespace bert::tools

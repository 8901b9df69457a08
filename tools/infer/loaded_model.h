// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "models/bert_infer.h"
#include "tools/infer/options/infer_options.h"
#include "tools/infer/task_table.h"

namespace bert::tools {

// What answers: a model, or its tokenizer alone for --task tokens.
struct LoadedModel {
  std::string directory;
  std::optional<bert::Model> model;
  bert::Tokenizer tokenizer;
  bert::Info info;  // of the model
  Task task;        // never automatic
};

// Logs the notes on what was loaded. Throws bert::Error where the model has no head for the task.
LoadedModel load_model(const InferOptions& options);

}  // namespace bert::tools

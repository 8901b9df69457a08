// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/config/sentence_settings.h"
#include "models/weights/json_file.h"

namespace bert::models {

// Refuses what sentence_bert_config.json may say about the transformer that changes what it reads
// or passes on to the next modules. A language model's logits are for LogitScore, which may read
// chat messages.
void check_transformer_settings(const JsonFile& file, const ModuleList& list);

}  // namespace bert::models

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/config/config.h"
#include "models/weights/json_file.h"

namespace bert::models {

// What a head's logits mean, by config.json and for classification by the files of
// sentence-transformers in the directory. Throws std::runtime_error for settings that are wrong.
Config::Labels read_head_labels(const JsonFile& file, const std::string& directory, HeadKind kind);
// Adds a note if label2id, by which transformers' zero-shot pipeline finds "entailment",
// contradicts id2label.
void note_label_ids(const JsonFile& file, std::vector<std::string>& notes);

}  // namespace bert::models

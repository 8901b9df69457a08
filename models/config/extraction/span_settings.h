// SPDX-License-Identifier: Apache-2.0
//
// GLiNER (Zaratiana et al. 2023): a model that finds the entities of labels that its input names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/weights/json_file.h"

namespace bert::models {

// Before the names of the encoder's tensors.
inline constexpr const char* kSpanEncoderPrefix = "token_rep_layer.bert_layer.model.";

// What gliner_config.json says about the input and the head, which scores spans of words.
struct SpanSettings {
  std::string path;               // of the file
  std::string base;               // the model that the encoder was made from: ORG/NAME
  int64_t width = 0;              // D, of the head
  int64_t most_words = 0;         // of a text
  int64_t widest = 0;             // K, the most words of a span
  int64_t lstm_layers = 0;        // over the words' states
  std::string marker, separator;  // the tokens before each label and after the last
  // -1: the tokenizer's own id or, if it has none, the vocabulary's size + 1; the separator's is
  // then the size + 2, as GLiNER adds a third token, [FLERT], before them.
  int32_t marker_id = -1;
  bool by_word = false;      // the head judges words, not spans
  bool reads_marker = true;  // a label's state is its marker's, not the next token's

  // The settings of the encoder as config.json would have them, from the file, or from `base` in
  // Hugging Face's cache.
  JsonFile encoder() const;
  // Where the tokenizer's files are: the directory of the file, or that of `base`.
  std::string tokenizer_folder() const;
};

// Nothing if the directory has no gliner_config.json. Errors are std::runtime_error.
std::optional<SpanSettings> read_span_settings(const std::string& directory);

}  // namespace bert::models

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "models/bert_infer.h"
#include "tools/infer/infer_options.h"
#include "tools/infer/loaded_model.h"

namespace bert::tools {

// Consecutive inputs, in the form that the task's InputKind says: only one of the first three
// vectors is filled.
struct Window {
  std::vector<bert::Encoding> encodings;  // one per input, or two for InputKind::two_sequences
  std::vector<bert::Input> texts;
  std::vector<bert::Choices> choices;
  std::vector<int64_t> lines;  // that the inputs come from, counted from 1
  int64_t tokens = 0;          // estimated where the library tokenizes

  void add(bert::Encoding encoding);
  void append(Window other);
};

// What one line holds.
using LineInput = std::variant<bert::Input, bert::Encoding, bert::Choices>;

// Parses and tokenizes the inputs of a task.
class InputMaker {
 public:
  // Both must outlive it.
  InputMaker(const InferOptions& options, const LoadedModel& loaded);

  // Throws std::runtime_error with the reason where the line holds no input for the task.
  LineInput parse(std::string_view line) const;

  // Appends the inputs to the window, the texts tokenized if the task reads tokens. Throws
  // bert::Error where one of the texts cannot be; nothing is appended then.
  void add_texts(std::span<bert::Input> texts, std::span<const int64_t> lines,
                 Window& window) const;
  static void add_parsed(LineInput input, int64_t line, Window& window);  // ids or choices

  // The one input that the command line gives.
  Window from_arguments() const;

 private:
  LineInput parse_unchecked(std::string_view line) const;
  void check(const LineInput& input) const;
  void add_other_texts(std::span<bert::Input> texts, Window& window) const;
  Window choices_from_arguments() const;
  std::vector<bert::Encoding> encode(std::span<const bert::Input> texts) const;

  const InferOptions& options_;
  const bert::Tokenizer& tokenizer_;
  const InputKind kind_;
};

}  // namespace bert::tools

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/bert_infer.h"
#include "tools/infer/loaded_model.h"
#include "tools/infer/options/infer_options.h"

namespace bert::tools {

// Where an input comes from.
struct Source {
  int64_t line = 1;       // counted from 1
  int64_t index = 0;      // of the input, a .csv's header left out, counted from 0
  std::string kept = {};  // what --keep passes through, as members of a JSON object
  std::string text = {};  // for --projector: the texts in one line
};

// A line that is no input, with --on-error skip.
struct Refused {
  size_t before;  // it stands before the window's input of this index
  Source source;
  std::string reason;
};

// Consecutive inputs, in the form that the task's InputKind says: only one of the first three
// vectors is filled.
struct Window {
  std::vector<bert::Encoding> encodings;  // one per input, or two for InputKind::two_sequences
  // For Task::tokens, those of the encodings that came from text, up to the last one that did.
  std::vector<std::vector<std::string>> strings;
  std::vector<bert::Input> texts;
  std::vector<bert::Choices> choices;
  std::vector<Source> sources;  // of the inputs
  std::vector<Refused> refused;
  int64_t tokens = 0;  // estimated where the library tokenizes

  void add(bert::Encoding encoding);
  bool empty() const { return sources.empty() && refused.empty(); }
  void append(Window other);
};

// What one line holds.
using LineInput = std::variant<bert::Input, bert::Encoding, bert::Choices>;

// Checks and tokenizes the inputs of a task.
class InputMaker {
 public:
  // Both must outlive it.
  InputMaker(const InferOptions& options, const LoadedModel& loaded);

  InputKind kind() const { return kind_; }
  // Throws std::runtime_error with the reason where this is no input for the task.
  void check(const LineInput& input) const;

  // Appends the inputs to the window, the texts tokenized if the task reads tokens. Throws
  // bert::Error where one of the texts cannot be; nothing is appended or moved then.
  void add_strings(std::span<const bert::Input> texts, Window& window) const;
  void add_texts(std::span<bert::Input> texts, std::span<Source> sources, Window& window) const;
  static void add_parsed(LineInput input, Source source, Window& window);  // ids or choices

  // What the command line gives: one input, or several for InputKind::single_text.
  Window from_arguments() const;

 private:
  void add_other_texts(std::span<bert::Input> texts, Window& window) const;
  Window many_from_arguments() const;  // a text and its choices, or texts
  Window texts_from_arguments() const;
  Window of_other(bert::Input text) const;  // for kinds other than sequence
  std::vector<bert::Encoding> encode(std::span<const bert::Input> texts) const;

  const InferOptions& options_;
  const LoadedModel& loaded_;
  const InputKind kind_;
};

}  // namespace bert::tools

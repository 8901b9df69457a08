// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "models/bert_infer.h"
#include "tools/console/output_file.h"

namespace bert::tools {

// The numbers of an input, or from fill_mask on an answer that is more (tools/infer/tasks.h).
enum class Task {
  automatic,
  logits,
  embed,
  hidden,
  tokens,
  fill_mask,
  tag,
  answer,
  choose,
  similarity,
  attention
};

// text is the line that a person reads; the others are for programs.
enum class OutputFormat { text, jsonl, tsv, npy, safetensors };

// What a task found for one input. All views.
struct Answer {
  int64_t index = 0;  // of the input, from 0
  const bert::Encoding& encoding;
  std::span<const float> values;  // logits [C], embedding [F], hidden states [S, H]; tokens: none
  std::span<const float> pooler;  // [H], for hidden alone and where the model has one
};

// Writes answers to a file, in the order of the calls.
class AnswerWriter {
 public:
  virtual ~AnswerWriter() = default;
  virtual void write(const Answer& answer) = 0;
  virtual void finish() {}  // writes what stands at the file's head or end; does not close the file
  // JSON has no spelling for NaN and infinities, and a person should not take them for an answer.
  virtual bool needs_finite() const { return false; }
};

// Whether the format can hold the task's answers.
bool can_hold(OutputFormat format, Task task);

// The task is not automatic, and the format can hold it. `file`, `info` and `tokenizer` must
// outlive the writer. The tokens task needs no info.
std::unique_ptr<AnswerWriter> make_writer(OutputFormat format, Task task, OutputFile& file,
                                          const bert::Info& info, const bert::Tokenizer& tokenizer);

}  // namespace bert::tools

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/bert_infer.h"

namespace bert::tools {

enum class Task {
  automatic,
  logits,
  embed,
  sparse,
  multi_vector,
  hidden,
  tokens,
  fill_mask,
  tag,
  answer,
  choose,
  similarity,
  attention,
  zero_shot,
  rank,
  search,
  // What two of them become once the model and the options are known.
  token_logits,  // logits, where the head gives them for each token
  layers,        // hidden, with --layers
};

// What a task reads.
enum class InputKind {
  sequence,       // a text, a pair or ids, as one sequence of tokens
  two_sequences,  // two texts, each a sequence of its own
  text,           // a text or a pair, which the library tokenizes
  single_text,    // the same, but no pair; each argument is one
  pair,           // two texts, which the library tokenizes
  choices,        // a text and its choices
};

inline bool takes_many_arguments(InputKind kind) {
  return kind == InputKind::choices || kind == InputKind::single_text;
}

enum class InputFormat { tsv, csv, txt, jsonl };

// text, html and projector are for people, the others are for programs.
enum class OutputFormat { text, jsonl, tsv, npy, safetensors, html, projector };

struct TaskTraits {
  Task task;
  const char* name;          // as --task spells it
  const char* variant = "";  // where a row of the same name stands before: which one this is
  InputKind input = InputKind::sequence;
  std::optional<bert::Task> head = std::nullopt;  // the head without which it cannot run
  std::array<std::string_view, 6> options = {};   // the options that not every task takes
  std::optional<std::string_view> tensor = {};    // name in a .safetensors file that can hold it
  bool one_row = false;     // the answer is one row of numbers, as .tsv and .npy hold them
  bool structured = false;  // in several parts: people are not told the number of tokens as well
  bool large = false;       // the answer to one input can take megabytes
  bool ranks = false;       // the answers are written last, the greatest score first
};

const TaskTraits& traits(Task task);
inline const char* task_name(Task task) { return traits(task).name; }
std::vector<std::string> task_names();  // each name once
Task find_task(std::string_view name);  // throws UsageError for an unknown name
// The tasks that take the option: "hidden or attention".
std::string tasks_with_option(std::string_view option);
bool can_hold(OutputFormat format, Task task);

}  // namespace bert::tools

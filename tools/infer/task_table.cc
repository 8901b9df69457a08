// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/task_table.h"

#include <algorithm>
#include <iterator>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/console/command_line.h"

namespace bert::tools {
namespace {

// A name's first row is the task that --task asks for.
constexpr TaskTraits kTasks[] = {
    {.task = Task::automatic, .name = "auto", .tensor = "", .one_row = true},
    {.task = Task::logits,
     .name = "logits",
     .options = {"--top-k", "--threshold"},
     .tensor = "logits",
     .one_row = true},
    {.task = Task::embed,
     .name = "embed",
     .options = {"--normalize", "--truncate-dim"},
     .tensor = "embedding",
     .one_row = true},
    {.task = Task::sparse, .name = "sparse", .options = {"--top-k"}, .structured = true},
    {.task = Task::multi_vector,
     .name = "multi-vector",
     .options = {"--role"},
     .tensor = "vectors",
     .large = true},
    {.task = Task::hidden, .name = "hidden", .options = {"--layers"}, .tensor = "hidden"},
    {.task = Task::tokens, .name = "tokens", .structured = true},
    {.task = Task::fill_mask,
     .name = "fill-mask",
     .head = bert::Task::fill_mask,
     .options = {"--top-k"},
     .structured = true},
    {.task = Task::tag,
     .name = "tag",
     .input = InputKind::text,
     .head = bert::Task::tag,
     .options = {"--stride", "--aggregation", "--labels", "--threshold", "--nested",
                 "--multi-label"},
     .structured = true},
    {.task = Task::answer,
     .name = "answer",
     .input = InputKind::pair,
     .head = bert::Task::answer,
     .options = {"--stride", "--answer-tokens", "--top-k"},
     .structured = true},
    {.task = Task::choose,
     .name = "choose",
     .input = InputKind::choices,
     .head = bert::Task::choose,
     .structured = true},
    {.task = Task::similarity,
     .name = "similarity",
     .input = InputKind::two_sequences,
     .options = {"--truncate-dim"},
     .structured = true},
    {.task = Task::attention,
     .name = "attention",
     .options = {"--layers"},
     .structured = true,
     .large = true},
    {.task = Task::zero_shot,
     .name = "zero-shot",
     .input = InputKind::single_text,
     .options = {"--labels", "--hypothesis", "--multi-label", "--top-k", "--threshold"},
     .structured = true},
    {.task = Task::rank,
     .name = "rank",
     .input = InputKind::single_text,
     .options = {"--query", "--top-k"},
     .structured = true,
     .ranks = true},
    {.task = Task::search,
     .name = "search",
     .input = InputKind::single_text,
     .options = {"--corpus", "--top-k"},
     .structured = true},
    {.task = Task::token_logits,
     .name = "logits",
     .variant = " by a head for tokens",
     .structured = true,
     .large = true},
    {.task = Task::layers,
     .name = "hidden",
     .variant = " with --layers",
     .options = {"--layers"},
     .structured = true,
     .large = true},
};

// Names of the rows that the condition holds for, each once, in the order of the table.
template <typename Condition>
std::vector<std::string> names_where(Condition condition) {
  std::vector<std::string> names;
  for (const TaskTraits& row : kTasks) {
    if (condition(row) && std::ranges::find(names, row.name) == names.end()) {
      names.emplace_back(row.name);
    }
  }
  return names;
}

}  // namespace

const TaskTraits& traits(Task task) { return *std::ranges::find(kTasks, task, &TaskTraits::task); }

std::vector<std::string> task_names() {
  return names_where([](const TaskTraits&) { return true; });
}

Task find_task(std::string_view name) {
  const auto* const row = std::ranges::find(kTasks, name, &TaskTraits::name);
  if (row == std::end(kTasks)) throw UsageError(fmt::format("--task {}: unknown task", name));
  return row->task;
}

std::string tasks_with_option(std::string_view option) {
  const std::vector<std::string> names = names_where([&](const TaskTraits& row) {
    return std::ranges::find(row.options, option) != row.options.end();
  });
  const std::span<const std::string> but_last(names.data(), names.size() - 1);
  return but_last.empty() ? names[0]
                          : fmt::format("{} or {}", fmt::join(but_last, ", "), names.back());
}

bool can_hold(OutputFormat format, Task task) {
  switch (format) {
    case OutputFormat::text:
    case OutputFormat::jsonl:
      return true;
    case OutputFormat::tsv:
    case OutputFormat::npy:
      return traits(task).one_row;
    case OutputFormat::safetensors:
      return traits(task).tensor.has_value();
    case OutputFormat::html:
      return task == Task::attention || task == Task::hidden || task == Task::layers;
    case OutputFormat::projector:
      return task == Task::automatic || task == Task::embed;
  }
  return false;
}

}  // namespace bert::tools

// SPDX-License-Identifier: Apache-2.0
#include "models/config/adapter_task.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/weights/adapter.h"

namespace bert::models {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTasks = {
    {{"SEQ_CLS", "ForSequenceClassification"},
     {"TOKEN_CLS", "ForTokenClassification"},
     {"QUESTION_ANS", "ForQuestionAnswering"}}};

// Sets as many labels as the saved head has rows: the file's own if their number fits, otherwise
// LABEL_0 and so on, as in a model made with num_labels.
void set_labels(JsonFile& config, int64_t count) {
  if (config.has("id2label") && std::cmp_equal(config.at("id2label").members().size(), count)) {
    return;
  }
  config.set("id2label", nullptr);
  config.set("num_labels", count);
}

}  // namespace

std::string choose_adapter(const JsonFile& file, const std::string& directory,
                           const std::string& adapter, Config& config) {
  const char* const own = config.family->default_adapter;
  if (!*own) return adapter;
  std::vector<std::string> names;
  if (file.has("task_names")) {
    for (const JsonField& name : file.at("task_names").elements()) names.push_back(name.string());
  }
  if (!adapter.empty()) return adapter;
  if (!find_adapter(directory, own)) {
    config.notes.push_back(
        fmt::format("{}: no adapter is there, such as adapters/{}", directory, own));
    return "";
  }
  config.notes.push_back(fmt::format("{}: as no adapter is named, it is {}, of {}", directory, own,
                                     fmt::join(names, ", ")));
  return own;
}

bool set_adapter_task(JsonFile& config, const Family& family, const std::string& directory,
                      const std::string& adapter) {
  const auto folder = find_adapter(directory, adapter);
  if (!folder) return false;
  const JsonFile settings(*folder + "/adapter_config.json");
  const std::string type = settings.text("task_type", "");
  const auto task = std::ranges::find(kTasks, type, [](const auto& each) { return each.first; });
  if (task == kTasks.end()) return false;
  const auto head =
      std::ranges::find(family.heads, task->second, [](const HeadRow& row) { return row.suffix; });
  if (head == family.heads.end()) {
    settings.fail("task_type",
                  fmt::format("another, as {}{} is not supported", family.classes, task->second));
  }
  const int64_t rows = rows_of_saved(*folder, head->output);
  if (rows == 0) return false;
  config.set("architectures", {family.classes + std::string(task->second)});
  if (head->kind != HeadKind::question_answering) set_labels(config, rows);
  return true;
}

}  // namespace bert::models

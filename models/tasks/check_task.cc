// SPDX-License-Identifier: Apache-2.0
//
// What a checkpoint's head is for, in the words of error messages.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "models/model_impl.h"

namespace bert {
namespace {

const char* task_name(Task task) {
  switch (task) {
    case Task::embed:
      return "embed";
    case Task::classify:
      return "classify";
    case Task::choose:
      return "choose";
    case Task::fill_mask:
      return "fill_mask";
    case Task::tag:
      return "tag";
    case Task::answer:
      return "answer";
    case Task::detect:
      return "detect";
  }
  return "";
}

}  // namespace

void Model::Impl::check_task(Task wanted) const {
  if (info.task == wanted) return;
  throw Error(fmt::format("a {} has no head for {}, but {}", config.architecture, task_name(wanted),
                          head_description()));
}

void Model::Impl::check_answer(size_t i, std::span<const float> values) const {
  if (engine::all_finite(values)) return;
  const auto bad = std::ranges::find_if(values, [](float x) { return !std::isfinite(x); });
  throw Error(fmt::format("input {}: the model of {} answers {}, expected finite numbers", i,
                          checkpoint.path(), std::isnan(*bad) ? std::fabs(*bad) : *bad));
}

void Model::Impl::check_rows(const Output& output) const {
  for (int64_t i = 0; i < output.rows; ++i) check_answer(static_cast<size_t>(i), output.row(i));
}

std::string Model::Impl::head_description() const {
  if (info.task == Task::embed) return "it only embeds";
  return fmt::format("its head is for {}", task_name(info.task));
}

}  // namespace bert

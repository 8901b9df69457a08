// SPDX-License-Identifier: Apache-2.0
//
// What a checkpoint's head is for, in the words of error messages.
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
    case Task::sparse:
      return "sparse";
    case Task::multi_vector:
      return "multi_vector";
  }
  return "";
}

}  // namespace

void Model::Impl::check_task(Task wanted) const {
  if (info.task == wanted) return;
  throw Error(fmt::format("a {} has no head for {}, but {}", config.architecture, task_name(wanted),
                          head_description()));
}

void Model::Impl::refuse_head(const char* what) const {
  throw Error(fmt::format("a {} has no head that gives logits for {}, but {}", config.architecture,
                          what, head_description()));
}

std::string Model::Impl::head_description() const {
  if (info.task == Task::embed) return "it only embeds";
  return fmt::format("its head is for {}", task_name(info.task));
}

}  // namespace bert

// SPDX-License-Identifier: Apache-2.0
//
// What a checkpoint's head is for, in words.
#include <fmt/format.h>

#include "models/model_impl.h"
#include "models/tasks/task_names.h"

namespace bert {
namespace models {

const char* name_of(Task task) {
  switch (task) {
    case Task::embed:
      return "embed";
    case Task::classify:
      return "classify";
    case Task::choose:
      return "choose";
    case Task::fill_mask:
      return "fill-mask";
    case Task::tag:
      return "tag";
    case Task::answer:
      return "answer";
    case Task::detect:
      return "detect";
    case Task::sparse:
      return "sparse";
    case Task::multi_vector:
      return "multi-vector";
  }
  return "";
}

const char* name_of(Scores scores) {
  switch (scores) {
    case Scores::softmax:
      return "softmax";
    case Scores::sigmoid:
      return "sigmoid";
    case Scores::raw:
      return "raw";
  }
  return "";
}

}  // namespace models

using models::name_of;

void Model::Impl::check_task(Task wanted) const {
  if (info.head_task == wanted) return;
  throw Error(fmt::format("{} has no head for {}: {}", config.architecture, name_of(wanted),
                          head_description()));
}

void Model::Impl::refuse_head(const char* what) const {
  throw Error(fmt::format("{} has no head that gives logits for {}: {}", config.architecture, what,
                          head_description()));
}

std::string Model::Impl::head_description() const {
  if (info.head_task == Task::embed) return "it only embeds";
  return fmt::format("its head is for {}", name_of(info.head_task));
}

}  // namespace bert

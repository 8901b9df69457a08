// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/served/served_model.h"

#include <utility>

#include <fmt/format.h>

#include "models/tasks/ranking/entailment.h"
#include "models/tasks/ranking/pair_scores.h"

namespace bert::tools::serve {
namespace {

const char* in_words(bert::Task task) {
  switch (task) {
    case bert::Task::embed:
      return "embeds texts";
    case bert::Task::classify:
      return "classifies texts";
    case bert::Task::choose:
      return "chooses between texts";
    case bert::Task::fill_mask:
      return "fills masks";
    case bert::Task::tag:
      return "tags tokens";
    case bert::Task::answer:
      return "answers questions";
    case bert::Task::sparse:
      return "weighs the tokens of texts";
    case bert::Task::multi_vector:
      return "gives a vector for each token";
    case bert::Task::detect:
      break;
  }
  return "detects replaced tokens";
}

bert::Info info_for_ranking(const bert::Model& model) {
  bert::Info info = model.info();
  if (info.labels.size() == 1) info.scores = models::pair_scores(model);
  return info;
}

}  // namespace

ServedModel::ServedModel(std::string called, std::string from, const bert::Options& options,
                         std::function<void()> answered)
    : name(std::move(called)),
      directory(std::move(from)),
      model(bert::Model::load(directory, options)),
      info(model.info()),
      ranking_info(info_for_ranking(model)),
      reader(directory, model),
      queue(model, {.answered = std::move(answered)}) {
  entailment_ = models::find_entailment(info).value_or(-1);
}

bool ServedModel::is_for(Ability ability) const {
  switch (ability) {
    case Ability::embed:
      return info.task == bert::Task::embed;
    case Ability::sparse:
      return info.has_sparse;
    case Ability::multi_vector:
      return info.token_vector > 0;
    case Ability::classify:
      return info.head_task == bert::Task::classify;
    case Ability::rerank:
      return info.head_task == bert::Task::classify && info.labels.size() == 1;
    case Ability::zero_shot:
      return entailment_ >= 0;
    case Ability::given_labels:
      return entailment_ >= 0 || (info.head_task == bert::Task::tag && info.labels.empty());
    case Ability::tag:
      return info.head_task == bert::Task::tag;
    case Ability::answer:
      return info.head_task == bert::Task::answer;
    case Ability::fill_mask:
      return info.head_task == bert::Task::fill_mask;
    case Ability::any:
      break;
  }
  return true;
}

// Every model has an encoder, whose states can be pooled, unless its directory has no such vectors.
bool ServedModel::can(Ability ability) const {
  return ability == Ability::embed ? info.embedding > 0 : is_for(ability);
}

std::string ServedModel::description() const {
  return fmt::format("{}, which {}", info.architecture, in_words(info.task));
}

const char* ServedModel::kind() const {
  switch (info.task) {
    case bert::Task::classify:
      return info.labels.size() == 1 ? "reranker" : "classifier";
    case bert::Task::tag:
      return "token_classifier";
    case bert::Task::answer:
      return "question_answering";
    case bert::Task::fill_mask:
      return "fill_mask";
    case bert::Task::multi_vector:
      return "multi_vector";
    default:
      return "embedding";
  }
}

const char* ServedModel::task() const {
  switch (info.task) {
    case bert::Task::classify:
      return "text-classification";
    case bert::Task::tag:
      return "token-classification";
    case bert::Task::answer:
      return "question-answering";
    case bert::Task::fill_mask:
      return "fill-mask";
    case bert::Task::sparse:
      return "sparse";
    case bert::Task::multi_vector:
      return "multi-vector";
    default:
      return "feature-extraction";
  }
}

void ServedModel::warm_up() {
  const std::vector<bert::Encoding> inputs = {{{0}, {0}, {}}};
  queue.hidden(bert::Inputs(inputs)).get();  // which every model has, and takes
}

}  // namespace bert::tools::serve

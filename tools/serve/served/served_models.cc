// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/served/served_models.h"

#include <chrono>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {
namespace {

const char* in_words(Ability ability) {
  switch (ability) {
    case Ability::embed:
      return "an embedding";
    case Ability::sparse:
      return "a sparse embedding";
    case Ability::multi_vector:
      return "a multi-vector";
    case Ability::classify:
      return "a sequence classification";
    case Ability::rerank:
      return "a re-ranker";
    case Ability::zero_shot:
    case Ability::given_labels:
      return "an entailment";
    case Ability::tag:
      return "a token classification";
    case Ability::answer:
      return "a question answering";
    case Ability::fill_mask:
      return "a masked language";
    case Ability::any:
      break;
  }
  return "any";
}

}  // namespace

void ServedModels::load(const Source& source, const bert::Options& options,
                        const std::function<void()>& answered) {
  const auto began = std::chrono::steady_clock::now();
  bert::Options load = options;
  load.adapter = source.adapter;
  auto model = std::make_unique<ServedModel>(source.name, source.directory, load, answered);
  for (const std::string& note : model->info.notes) spdlog::info("{}: note: {}", source.name, note);
  model->warm_up();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  spdlog::info("model {}: {}, {}, {} on {} x {} threads, ready after {:.2f} s", source.name,
               model->description(), source.directory, model->info.precision, model->info.workers,
               model->info.threads, took.count());
  models_.push_back(std::move(model));
}

std::string ServedModels::names() const {
  std::string names;
  for (const auto& model : models_)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", model->name);
  return names;
}

const ServedModel& ServedModels::named(std::string_view name) const {
  for (const auto& model : models_) {
    if (model->name == name) return *model;
  }
  throw RequestError(Refusal::no_model,
                     fmt::format("there is no model '{}', expected one of: {}", name, names()),
                     "model");
}

const ServedModel& ServedModels::named(std::string_view name, Ability ability) const {
  const ServedModel& model = named(name);
  if (model.can(ability)) return model;
  throw RequestError(
      Refusal::backend,
      fmt::format("model is not {} model: {} is {}", in_words(ability), name, model.description()),
      "model");
}

const ServedModel& ServedModels::first(Ability ability) const {
  for (const auto& model : models_) {
    if (model->is_for(ability)) return *model;
  }
  for (const auto& model : models_) {
    if (model->can(ability)) return *model;
  }
  if (models_.size() == 1) return named(models_[0]->name, ability);
  throw RequestError(Refusal::backend,
                     fmt::format("none of the models {} is {} model", names(), in_words(ability)));
}

bert::QueueStatistics ServedModels::statistics() const {
  bert::QueueStatistics sum;
  for (const auto& model : models_) {
    const bert::QueueStatistics one = model->queue.statistics();
    sum.waiting_requests += one.waiting_requests;
    sum.waiting_tokens += one.waiting_tokens;
    sum.computing_requests += one.computing_requests;
    sum.computing_tokens += one.computing_tokens;
    sum.batches += one.batches;
    sum.batch_inputs += one.batch_inputs;
    sum.batch_tokens += one.batch_tokens;
  }
  return sum;
}

std::pair<const ServedModel*, std::string_view> ServedModels::in_path(std::string_view path) const {
  const ServedModel* found = nullptr;
  for (const auto& model : models_) {
    const bool begins = path.starts_with(model->name) &&
                        (path.size() == model->name.size() || path[model->name.size()] == '/');
    if (begins && (found == nullptr || model->name.size() > found->name.size()))
      found = model.get();
  }
  return {found, found == nullptr ? path : path.substr(found->name.size())};
}

}  // namespace bert::tools::serve

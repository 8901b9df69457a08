// SPDX-License-Identifier: Apache-2.0
//
// A model's own task, as Hugging Face's inference clients ask for it: POST / and /models/NAME.
#include <fmt/format.h>

#include "tools/serve/routes/route.h"
#include "tools/serve/routes/tasks/classify_routes.h"
#include "tools/serve/routes/tasks/text_routes.h"
#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {
namespace {

constexpr Field kTaskFields[] = {
    {"inputs", FieldType::any,
     "As the task has it: texts; {\"question\", \"context\"}; {\"source_sentence\", "
     "\"sentences\"}; for a re-ranker also \"query\" and \"texts\" in its place.",
     false},
    {"parameters", FieldType::object,
     "The fields of the task, some of which may stand beside it as well; candidate_labels makes it "
     "zero-shot classification."},
    {"options", FieldType::object, "Is ignored."},
    {"query", FieldType::text, "As for /rerank."},
    {"texts", FieldType::texts, "As for /rerank."},
    {"raw_scores", FieldType::flag, "As for /rerank and /predict."},
    {"return_text", FieldType::flag, "As for /rerank."},
    {"normalize", FieldType::flag, "As for /embed."},
    {"dimensions", FieldType::count, "As for /embed."},
    {"prompt_name", FieldType::text, "As for /embed."},
    {"encoding_format", FieldType::text, "As for /embed."},
    kTruncateFields[0],
    kTruncateFields[1],
    kModelField,
};

// What a body asks for, by what it has.
Ability asked_for(const JsonObject& object) {
  const json* const inputs = object.find("inputs");
  const json* const parameters = object.find("parameters");
  if (object.has("query")) return Ability::rerank;
  if (parameters != nullptr && parameters->is_object() &&
      parameters->contains("candidate_labels")) {
    return Ability::given_labels;
  }
  if (inputs != nullptr && inputs->is_object()) {
    if (inputs->contains("source_sentence")) return Ability::embed;
    if (inputs->contains("question") || inputs->contains("context")) return Ability::answer;
  }
  return Ability::any;
}

Ability own_ability(const ServedModel& model) {
  switch (model.info.task) {
    case bert::Task::classify:
      return Ability::classify;
    case bert::Task::tag:
      return Ability::tag;
    case bert::Task::answer:
      return Ability::answer;
    case bert::Task::fill_mask:
      return Ability::fill_mask;
    case bert::Task::sparse:
      return Ability::sparse;
    default:
      return Ability::embed;
  }
}

Work work_for(const Call& call, Ability ability) {
  const ServedModel& model = call.model(ability);
  if (ability == Ability::any) {
    ability = own_ability(model);
    call.state.models.named(model.name, ability);  // refuses one that has no vector of a text
  }
  switch (ability) {
    case Ability::classify:
      return classification_work(call, model);
    case Ability::rerank:
      return rerank_work(call, model);
    case Ability::zero_shot:
      return zero_shot_work(call, model);
    case Ability::given_labels:
      return model.entailment() >= 0 ? zero_shot_work(call, model) : tag_work(call, model);
    case Ability::tag:
      return tag_work(call, model);
    case Ability::answer:
      return answer_work(call, model);
    case Ability::fill_mask:
      return fill_mask_work(call, model);
    case Ability::sparse:
      return sparse_work(call, model);
    case Ability::embed:
    case Ability::multi_vector:
    case Ability::any:
      break;
  }
  const json* const inputs = call.object().find("inputs");
  const bool compares = inputs != nullptr && inputs->is_object();
  return compares ? similarity_work(call, model) : embed_work(call, model);
}

Outcome own_task(const Call& call) { return work_for(call, asked_for(call.object())); }

template <Ability ability>
Outcome pipeline(const Call& call) {
  return work_for(call, ability);
}

}  // namespace

std::span<const Route> pipeline_routes() {
  // For models whose head is for this: each at /pipeline/TASK and, shorter, at /TASK.
  static constexpr Route kRoutes[] = {
      {"POST", "/", Dialect::tei, own_task,
       "The model's own task, as Hugging Face's inference clients ask for it", kTaskFields,
       R"({"inputs": "A man plays."})", false, true},
      {"POST", "/models/{model}", Dialect::tei, own_task, "The same for the model of this name",
       kTaskFields, R"({"inputs": "A man plays."})", false, true},
      {"POST", "/invocations", Dialect::tei, own_task, "The same as POST /, for SageMaker",
       kTaskFields, R"({"inputs": "A man plays."})", false, true},
      {"POST", "/pipeline/feature-extraction", Dialect::tei, pipeline<Ability::embed>,
       "Embeddings of texts", kTaskFields, R"({"inputs": "A man plays."})"},
      {"POST", "/pipeline/sentence-similarity", Dialect::tei, pipeline<Ability::embed>,
       "Cosine similarities of a text with others", kTaskFields,
       R"({"inputs": {"source_sentence": "A man plays.", "sentences": ["A boy plays.", "It rains."]}})"},
      {"POST", "/pipeline/text-classification", Dialect::tei, pipeline<Ability::classify>,
       "Labels of texts, best first", kTaskFields, R"({"inputs": "A man plays."})", false, false,
       kClassificationTask},
      {"POST", "/pipeline/zero-shot-classification", Dialect::tei, pipeline<Ability::zero_shot>,
       "Labels that the model was not trained for, best first", kTaskFields,
       R"({"inputs": "A man plays.", "parameters": {"candidate_labels": ["music", "weather"]}})",
       false, true, kZeroShotTask},
      {"POST", "/pipeline/token-classification", Dialect::tei, pipeline<Ability::tag>,
       "The entities of texts", kTaskFields, R"({"inputs": "A man plays."})", false, false,
       kTagTask},
      {"POST", "/pipeline/question-answering", Dialect::tei, pipeline<Ability::answer>,
       "The part of a context that answers a question", kTaskFields,
       R"({"inputs": {"question": "Who plays?", "context": "A man plays."}})", false, false,
       kAnswerTask},
      {"POST", "/pipeline/fill-mask", Dialect::tei, pipeline<Ability::fill_mask>,
       "The tokens that masks may stand for", kTaskFields, R"({"inputs": "A [MASK] plays."})",
       false, false, kFillMaskTask},
  };
  return kRoutes;
}

}  // namespace bert::tools::serve

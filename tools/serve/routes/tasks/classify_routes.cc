// SPDX-License-Identifier: Apache-2.0
//
// Labels of texts and pairs: text-embeddings-inference's route, Hugging Face's text classification
// and zero-shot classification.
#include "tools/serve/routes/tasks/classify_routes.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "models/tasks/ranking/entailment.h"
#include "tools/infer/answers/numbers.h"
#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {
namespace {

constexpr Field kPredictFields[] = {
    {"inputs", FieldType::pairs,
     "A text, a pair as an array of two, or a batch as an array of arrays of one or two.", true},
    {"raw_scores", FieldType::flag, "Whether scores are logits rather than probabilities.", false,
     "false"},
    kTruncateFields[0],
    kTruncateFields[1],
    kModelField,
};

constexpr Field kClassifyParameters[] = {
    {"top_k", FieldType::whole, ""},
    {"function_to_apply", FieldType::text, ""},
    kTruncateFields[0],
    kTruncateFields[1],
};

constexpr Field kZeroShotParameters[] = {
    {"candidate_labels", FieldType::some_text, "", true},
    {"hypothesis_template", FieldType::text, ""},
    {"multi_label", FieldType::flag, ""},
};

// What of the labels of an input is shown.
struct Labelling {
  std::shared_ptr<const bert::Info> info;  // with the scores that were asked for
  size_t top_k;
  bool nested;  // an array of arrays, also for one

  void append(std::string& line, std::span<const float> logits) const {
    const std::vector<float> scores = bert::probabilities(logits, *info);
    const std::vector<int64_t> order = bert::top_k(scores, static_cast<int64_t>(top_k));
    append_array(line, std::span(order), [&](std::string& out, int64_t i) {
      append_label(out, info->labels[i], scores[i]);
    });
  }

  Spelled operator()(const bert::Output& logits) const {
    Spelled out;
    if (nested) out.body += '[';
    for (int64_t i = 0; i < logits.rows; ++i) {
      if (i > 0) out.body += ", ";
      append(out.body, logits.row(i));
    }
    if (nested) out.body += ']';
    return out;
  }
};

std::shared_ptr<const bert::Info> info_with(const ServedModel& model, bert::Scores scores) {
  if (scores == model.info.scores) return {std::shared_ptr<void>(), &model.info};
  auto info = std::make_shared<bert::Info>(model.info);
  info->scores = scores;
  return info;
}

bert::Scores scores_named(const JsonObject& parameters, bert::Scores usual) {
  const auto name = parameters.text("function_to_apply");
  if (!name) return usual;
  if (*name == "softmax") return bert::Scores::softmax;
  if (*name == "sigmoid") return bert::Scores::sigmoid;
  if (*name == "none") return bert::Scores::raw;
  parameters.fail("function_to_apply",
                  fmt::format("is '{}', expected softmax, sigmoid or none", *name));
}

Work labels_work(const ServedModel& model, const std::vector<bert::Input>& inputs,
                 const EncodeOptions& options, Work work, Labelling labelling) {
  auto encodings = encode(model, inputs, options, work);
  return logits_work(model, std::move(encodings), std::move(work), std::move(labelling));
}

Outcome predict(const Call& call) {
  const JsonObject object = call.object();
  const ServedModel& model = call.model(Ability::classify);
  Work work;
  const std::vector<bert::Input> inputs = object.pairs("inputs", work.is_batch);
  call.check_batch(inputs.size(), "inputs");
  const bool raw = object.flag("raw_scores", false);
  Labelling labelling = {info_with(model, raw ? bert::Scores::raw : model.info.scores),
                         model.info.labels.size(), work.is_batch};
  return labels_work(model, inputs, encode_options(call, object), std::move(work),
                     std::move(labelling));
}

// How likely the model takes each label's hypothesis to follow, as Hugging Face's pipeline has it.
struct ZeroShot {
  std::vector<std::string> labels;
  int entailment;
  bool each;  // by itself, against its contradiction; else against each other

  Spelled operator()(const bert::Output& logits) const {
    const std::vector<float> scores =
        models::entailment_scores(logits, 0, logits.rows, entailment, each);
    const std::vector<int64_t> order = bert::top_k(scores, std::ssize(scores));
    Spelled out;
    append_array(out.body, std::span(order),
                 [&](std::string& line, int64_t i) { append_label(line, labels[i], scores[i]); });
    return out;
  }
};

}  // namespace

std::span<const Route> classify_routes() {
  static constexpr Route kRoutes[] = {
      {"POST", "/predict", Dialect::tei, predict, "Labels of texts and pairs, best first",
       kPredictFields,
       R"({"inputs": [["A man plays music.", "A man makes a sound."], ["It rains."]]})"},
  };
  return kRoutes;
}

Work classification_work(const Call& call, const ServedModel& model, const JsonObject& object) {
  const JsonObject parameters = object.object("parameters", kClassifyParameters);
  Work work;
  std::vector<bert::Input> inputs;
  const json* const found = object.find("inputs");
  const bool of_strings =
      found != nullptr && found->is_array() && !found->empty() && (*found)[0].is_string();
  if (of_strings) {  // a batch for Hugging Face, where /predict has a pair
    for (std::string& text : object.texts("inputs")) inputs.push_back({std::move(text)});
    work.is_batch = true;
  } else {
    inputs = object.pairs("inputs", work.is_batch);
  }
  call.check_batch(inputs.size(), "inputs");
  const size_t all = model.info.labels.size();
  const auto top = parameters.whole("top_k", 1, 1 << 20).value_or(static_cast<int64_t>(all));
  Labelling labelling = {info_with(model, scores_named(parameters, model.info.scores)),
                         static_cast<size_t>(top), true};
  return labels_work(model, inputs, encode_options(call, parameters), std::move(work),
                     std::move(labelling));
}

Work zero_shot_work(const Call& call, const ServedModel& model, const JsonObject& object) {
  const JsonObject parameters = object.object("parameters", kZeroShotParameters);
  bool is_batch = false;
  ZeroShot zero_shot = {parameters.some_text("candidate_labels", is_batch), model.entailment(),
                        parameters.flag("multi_label", false)};
  if (zero_shot.labels.empty()) parameters.fail("candidate_labels", "is empty");
  call.check_batch(zero_shot.labels.size(), "parameters.candidate_labels");
  if (zero_shot.labels.size() == 1) zero_shot.each = true;
  const std::string form = parameters.text("hypothesis_template").value_or("This example is {}.");
  const size_t place = form.find("{}");
  if (place == std::string::npos || form.find("{}", place + 2) != std::string::npos) {
    parameters.fail("hypothesis_template", "has no {} for the label, or several");
  }
  const auto text = object.text("inputs");
  if (!text) object.fail("inputs", "is missing");
  std::vector<bert::Input> pairs;
  for (const std::string& label : zero_shot.labels)
    pairs.push_back({*text, models::hypothesis(form, label)});
  Work work;
  auto encodings = encode(model, pairs, encode_options(call, parameters), work);
  return logits_work(model, std::move(encodings), std::move(work), std::move(zero_shot));
}

}  // namespace bert::tools::serve

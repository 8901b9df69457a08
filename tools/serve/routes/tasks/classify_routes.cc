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

#include "models/tasks/on_this_thread.h"
#include "models/tasks/ranking/entailment.h"
#include "tokenizer/unicode/utf8.h"
#include "tools/console/numbers.h"
#include "tools/serve/served/model_work.h"
#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {
namespace {

constexpr Field kPredictFields[] = {
    {"inputs", FieldType::pairs,
     "A text, a pair as an array of two, or a batch as an array of arrays of one or two.", true},
    kRawScoresField,
    kTruncateFields[0],
    kTruncateFields[1],
    kModelField,
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

bert::Scores scores_named(const JsonObject& task, bert::Scores usual) {
  const auto name = task.text("function_to_apply");
  const bool raw = task.flag("raw_scores", false);
  if (!name) return raw ? bert::Scores::raw : usual;
  if (raw) task.fail("raw_scores", "cannot be given with function_to_apply");
  if (*name == "softmax") return bert::Scores::softmax;
  if (*name == "sigmoid") return bert::Scores::sigmoid;
  if (*name == "none") return bert::Scores::raw;
  task.fail("function_to_apply", fmt::format("is '{}', expected softmax, sigmoid or none", *name));
}

Work labels_work(const Call& call, const ServedModel& model, const std::vector<bert::Input>& inputs,
                 const EncodeOptions& options, Work work, Labelling labelling) {
  auto encodings = encode(call, model, inputs, options, work);
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
  return labels_work(call, model, inputs, encode_options(call, object), std::move(work),
                     std::move(labelling));
}

// How likely the model takes each label's hypothesis to follow, as Hugging Face's pipeline has it.
struct ZeroShot {
  std::vector<std::string> labels;
  int entailment;
  bool each;  // by itself, against its contradiction; else against each other
  bool nested;

  void append(std::string& line, const bert::Output& logits, int64_t first) const {
    const std::vector<float> scores =
        models::entailment_scores(logits, first, std::ssize(labels), entailment, each);
    const std::vector<int64_t> order = bert::top_k(scores, std::ssize(scores));
    append_array(line, std::span(order),
                 [&](std::string& out, int64_t i) { append_label(out, labels[i], scores[i]); });
  }

  Spelled operator()(const bert::Output& logits) const {
    Spelled out;
    if (nested) out.body += '[';
    for (int64_t first = 0; first < logits.rows; first += std::ssize(labels)) {
      if (first > 0) out.body += ", ";
      append(out.body, logits, first);
    }
    if (nested) out.body += ']';
    return out;
  }
};

// Of an array, or of one text with commas, as in Hugging Face's pipeline.
std::vector<std::string> candidate_labels(const JsonObject& task) {
  bool several = false;
  std::vector<std::string> labels = task.some_text("candidate_labels", several);
  if (!several) {
    constexpr const char* kSpace = " \t\n\v\f\r";
    const std::string text = std::exchange(labels, {})[0];
    for (size_t begin = 0, end = 0; end < text.size(); begin = end + 1) {
      end = std::min(text.find(',', begin), text.size());
      const size_t first = std::min(text.find_first_not_of(kSpace, begin), end);
      const size_t last = text.find_last_not_of(kSpace, end - 1) + 1;
      if (first < end) labels.push_back(text.substr(first, last - first));
    }
  }
  if (labels.empty()) task.fail("candidate_labels", "is empty");
  return labels;
}

// Each text with each label's hypothesis, as the library encodes them.
std::vector<bert::Encoding> encode_hypotheses(const Call& call, const ServedModel& model,
                                              const JsonObject& task,
                                              const std::vector<std::string>& texts,
                                              const std::vector<std::string>& labels, Work& work) {
  const std::string form = task.text("hypothesis_template").value_or("This example is {}.");
  // Some labels at a time, as each repeats its text, and nobody may wait any more.
  constexpr size_t kBytes = size_t{1} << 20;
  std::vector<bert::Encoding> encodings;
  for (const std::string& text : texts) {
    const size_t most = std::max<size_t>(1, kBytes / (text.size() + 1));
    for (size_t first = 0; first < labels.size(); first += most) {
      call.check_wanted();
      const auto some = std::span(labels).subspan(first, std::min(most, labels.size() - first));
      auto part = models::encode_here(model.model, std::span(&text, 1), some, form);
      std::ranges::move(part, std::back_inserter(encodings));
    }
  }
  const bool truncates = task.flag("truncate", call.state.limits.auto_truncate);
  for (const bert::Encoding& encoding : encodings) {
    if (encoding.truncated && !truncates) {
      task.fail("inputs", fmt::format("has more than {} tokens with a label's hypothesis",
                                      model.info.max_length));
    }
    work.tokens += std::ssize(encoding.ids);
  }
  for (const std::string& text : texts)
    work.characters += static_cast<int64_t>(tokenizer::utf8::count_scalars(text));
  work.inputs = std::ssize(encodings);
  return encodings;
}

}  // namespace

std::span<const Route> classify_routes() {
  static constexpr Route kRoutes[] = {
      {"POST", "/predict", Dialect::tei, predict, "Labels of texts and pairs, best first",
       kPredictFields,
       R"({"inputs": [["A man plays music.", "A man makes a sound."], ["It rains."]]})"},
  };
  return kRoutes;
}

Work classification_work(const Call& call, const ServedModel& model) {
  const JsonObject object = call.task(kClassificationTask);
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
  const auto top = object.whole("top_k", 1, 1 << 20).value_or(static_cast<int64_t>(all));
  Labelling labelling = {info_with(model, scores_named(object, model.info.scores)),
                         static_cast<size_t>(top), true};
  return labels_work(call, model, inputs, encode_options(call, object), std::move(work),
                     std::move(labelling));
}

Work zero_shot_work(const Call& call, const ServedModel& model) {
  const JsonObject task = call.task(kZeroShotTask);
  Work work;
  const std::vector<std::string> texts = task.some_text("inputs", work.is_batch);
  ZeroShot zero_shot = {candidate_labels(task), model.entailment(), task.flag("multi_label", false),
                        work.is_batch};
  call.check_batch(texts.size(), "inputs");
  call.check_batch(zero_shot.labels.size() * texts.size(), "candidate_labels");
  if (zero_shot.labels.size() == 1) zero_shot.each = true;
  int64_t bytes = 0;  // of the labels, which are repeated for each text
  for (const std::string& label : zero_shot.labels) bytes += std::ssize(label);
  work.numbers = std::ssize(texts) * bytes / kBytesOfNumber;
  auto encodings = encode_hypotheses(call, model, task, texts, zero_shot.labels, work);
  return logits_work(model, std::move(encodings), std::move(work), std::move(zero_shot));
}

}  // namespace bert::tools::serve

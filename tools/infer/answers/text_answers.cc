// SPDX-License-Identifier: Apache-2.0
//
// Tasks that answer in words.
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tokenizer/unicode/printable.h"
#include "tools/console/numbers.h"
#include "tools/infer/answers/answers.h"

namespace bert::tools {
namespace {

using nlohmann::ordered_json;
using tokenizer::printable;

class FillMaskAnswers final : public SequenceAnswers {
 public:
  FillMaskAnswers(const InferOptions& options, const LoadedModel& loaded)
      : model_(*loaded.model), top_k_(options.top_k) {}

  void append_json(std::string& line, size_t i) const override {
    ordered_json masks = ordered_json::array();
    for (const bert::Blank& blank : found_[i]) {
      ordered_json fills = ordered_json::array();
      for (const auto& fill : blank.fills) {
        fills.push_back({{"token", fill.token},
                         {"id", fill.id},
                         {"probability", json_number(fill.probability)}});
      }
      masks.push_back({{"token", blank.token}, {"fills", fills}});
    }
    append_members(line, {{"masks", masks}});
  }

  std::string text(size_t i) const override {
    if (found_[i].empty()) return "no mask token in the text";
    std::string text;
    for (const bert::Blank& blank : found_[i]) {
      if (!text.empty()) text += '\n';
      const char* separator = "";
      for (const auto& fill : blank.fills) {
        text += fmt::format("{}{} {:.4f}", separator, printable(fill.token), fill.probability);
        separator = ", ";
      }
    }
    return text;
  }

 private:
  void run() override { found_ = model_.fill_mask(encodings_, top_k_); }

  const bert::Model& model_;
  const int top_k_;
  std::vector<std::vector<bert::Blank>> found_;
};

ordered_json json_spans(const std::vector<bert::Span>& spans) {
  ordered_json array = ordered_json::array();
  for (const bert::Span& span : spans) {
    array.push_back({{"text", span.text},
                     {"begin", span.offset.begin},
                     {"end", span.offset.end},
                     {"string", span.string},
                     {"label", span.label},
                     {"probability", json_number(span.probability)}});
  }
  return array;
}

class TagAnswers final : public Answers {
 public:
  TagAnswers(const InferOptions& options, const LoadedModel& loaded)
      : model_(*loaded.model), options_(options.tag) {}

  void compute(const Window& window, size_t first, size_t count) override {
    found_ = model_.tag(std::span(window.texts).subspan(first, count), options_);
  }

  Size size(size_t i) const override { return {found_[i].tokens, found_[i].truncated}; }

  void append_json(std::string& line, size_t i) const override {
    append_members(line, {{"entities", json_spans(found_[i].entities)},
                          {"words", json_spans(found_[i].words)},
                          {"windows", found_[i].windows}});
  }

  std::string text(size_t i) const override {
    if (found_[i].entities.empty()) return "no entities";
    std::string text;
    for (const bert::Span& span : found_[i].entities) {
      text += fmt::format("{}{}: {} {:.4f}", text.empty() ? "" : "\n", printable(span.string),
                          printable(span.label), span.probability);
    }
    return text;
  }

 private:
  const bert::Model& model_;
  const bert::TagOptions& options_;
  std::vector<bert::Tags> found_;
};

ordered_json json_span(const bert::AnswerSpan& span) {
  return {{"answer", span.string},
          {"begin", span.offset.begin},
          {"end", span.offset.end},
          {"score", json_number(span.score)}};
}

class QuestionAnswers final : public Answers {
 public:
  QuestionAnswers(const InferOptions& options, const LoadedModel& loaded)
      : model_(*loaded.model),
        options_(options.answer),
        lists_others_(options.is_given("--top-k")) {
    if (lists_others_) options_.top_k = options.top_k;
  }

  void compute(const Window& window, size_t first, size_t count) override {
    found_ = model_.answer(std::span(window.texts).subspan(first, count), options_);
  }

  Size size(size_t i) const override { return {found_[i].tokens, false}; }

  void append_json(std::string& line, size_t i) const override {
    const bert::Answer& found = found_[i];
    ordered_json members = json_span(found);
    members["no_answer"] = json_number(found.no_answer);
    members["windows"] = found.windows;
    if (lists_others_) {
      ordered_json& others = members["others"] = ordered_json::array();
      for (const bert::AnswerSpan& other : found.others) others.push_back(json_span(other));
    }
    append_members(line, members);
  }

  std::string text(size_t i) const override {
    const bert::Answer& found = found_[i];
    std::string text =
        fmt::format("{}  {:.4f}  (no answer: {:.4f}; characters {} to {})", printable(found.string),
                    found.score, found.no_answer, found.offset.begin, found.offset.end);
    for (const bert::AnswerSpan& other : found.others) {
      text += fmt::format("\n{}  {:.4f}  (characters {} to {})", printable(other.string),
                          other.score, other.offset.begin, other.offset.end);
    }
    return text;
  }

 private:
  const bert::Model& model_;
  bert::AnswerOptions options_;
  const bool lists_others_;
  std::vector<bert::Answer> found_;
};

class ChooseAnswers final : public Answers {
 public:
  explicit ChooseAnswers(const LoadedModel& loaded) : model_(*loaded.model) {}

  void compute(const Window& window, size_t first, size_t count) override {
    inputs_ = std::span(window.choices).subspan(first, count);
    found_ = model_.choose(inputs_);
  }

  Size size(size_t i) const override { return {found_[i].tokens, found_[i].truncated}; }

  void append_json(std::string& line, size_t i) const override {
    append_members(line, {{"choice", found_[i].index},
                          {"string", inputs_[i].choices[found_[i].index]},
                          {"probabilities", json_array(found_[i].probabilities)},
                          {"logits", json_array(found_[i].logits)}});
  }

  std::string text(size_t i) const override {
    const std::vector<float>& probabilities = found_[i].probabilities;
    std::string text = fmt::format("{}  {:.4f}  [", printable(inputs_[i].choices[found_[i].index]),
                                   probabilities[found_[i].index]);
    for (size_t j = 0; j < probabilities.size(); ++j) {
      text += fmt::format("{}{:.4f}", j > 0 ? ", " : "", probabilities[j]);
    }
    return text + ']';
  }

 private:
  const bert::Model& model_;
  std::span<const bert::Choices> inputs_;
  std::vector<bert::Choice> found_;
};

}  // namespace

std::unique_ptr<Answers> make_text_answers(const InferOptions& options, const LoadedModel& loaded) {
  switch (loaded.task) {
    case Task::fill_mask:
      return std::make_unique<FillMaskAnswers>(options, loaded);
    case Task::tag:
      return std::make_unique<TagAnswers>(options, loaded);
    case Task::answer:
      return std::make_unique<QuestionAnswers>(options, loaded);
    case Task::choose:
      return std::make_unique<ChooseAnswers>(loaded);
    default:
      return make_ranking_answers(options, loaded);
  }
}

}  // namespace bert::tools

// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/routes/tasks/text_routes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "models/directory/inspection.h"
#include "tokenizer/unicode/utf8.h"
#include "tools/console/numbers.h"
#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {
namespace {

constexpr Field kQuestion[] = {
    {"question", FieldType::text, "", true},
    {"context", FieldType::text, "", true},
};

// The most fills of all masks of a request, as each is answered with its whole text, and the most
// probabilities, which for targets are those of the whole vocabulary for each mask.
constexpr int64_t kMostFills = 20'000;
constexpr int64_t kMostProbabilities = int64_t{1} << 22;

constexpr int64_t kMostTokens = 1 << 20;

// The most answers to a question: of each window of a context, twice as many compete.
constexpr int64_t kMostAnswers = 100;

void count_texts(const std::vector<bert::Input>& texts, Work& work) {
  work.inputs = std::ssize(texts);
  for (const bert::Input& text : texts) {
    work.characters +=
        static_cast<int64_t>(tokenizer::utf8::count_scalars(text.first) +
                             (text.second ? tokenizer::utf8::count_scalars(*text.second) : 0));
  }
}

// About how many numbers all spans of the texts take, where the options let nearly all be entities.
int64_t count_spans(const bert::TagOptions& tag, int64_t characters) {
  constexpr float kRare = 0.05f;  // from this threshold on, few spans are entities
  constexpr int64_t kWord = 2, kWidest = 12, kNumbers = 4;  // characters; words; for each span
  if (!tag.nested || tag.labels.empty() || tag.threshold >= kRare) return 0;
  const int64_t labels = tag.multi_label ? std::ssize(tag.labels) : 1;
  return characters / kWord * kWidest * labels * kNumbers;
}

// By default that of Hugging Face's API, but for labels that mark whole spans.
bert::Aggregation aggregation_of(const JsonObject& parameters, const bert::Model& model) {
  if (!parameters.has("aggregation_strategy")) {
    return bert::models::marks_spans(model) ? bert::Aggregation::automatic
                                            : bert::Aggregation::simple;
  }
  const std::string name = parameters.text("aggregation_strategy").value_or("simple");
  if (name == "none") return bert::Aggregation::none;
  if (name == "simple") return bert::Aggregation::simple;
  if (name == "first") return bert::Aggregation::first;
  if (name == "average") return bert::Aggregation::average;
  if (name == "max") return bert::Aggregation::max;
  parameters.fail("aggregation_strategy",
                  fmt::format("is '{}', expected none, simple, first, average or max", name));
}

// The entities of texts; each by its label's key, which says whether it is one token.
struct TagAnswer {
  const char* key;
  std::vector<std::string> ignored;  // sorted
  bool nested;
  size_t most;  // bytes

  void append(std::string& line, const bert::Tags& tags) const {
    std::vector<const bert::Span*> shown;
    for (const bert::Span& span : tags.entities) {
      if (!std::ranges::binary_search(ignored, span.label)) shown.push_back(&span);
    }
    append_array(line, std::span<const bert::Span* const>(shown),
                 [&](std::string& out, const bert::Span* span) {
                   if (out.size() > most) {
                     throw RequestError(
                         Refusal::validation,
                         fmt::format("the answer has more than {} bytes: send fewer inputs at a "
                                     "time, or a higher threshold",
                                     most));
                   }
                   out += fmt::format("{{\"{}\": ", key);
                   append_quoted(out, span->label);
                   out += ", \"score\": ";
                   append_finite(out, span->probability);
                   out += ", \"word\": ";
                   append_quoted(out, span->string);
                   out += fmt::format(", \"start\": {}, \"end\": {}}}", span->offset.begin,
                                      span->offset.end);
                 });
  }

  Spelled operator()(const std::vector<bert::Tags>& all) const {
    Spelled out;
    out.tokens = 0;
    for (const bert::Tags& tags : all) *out.tokens += tags.tokens;
    if (nested) {
      append_array(out.body, std::span(all),
                   [&](std::string& line, const bert::Tags& tags) { append(line, tags); });
    } else {
      append(out.body, all[0]);
    }
    return out;
  }
};

struct QuestionAnswer {
  bool may_be_none, nested;
  size_t top_k;

  static void append_span(std::string& line, const bert::AnswerSpan& span) {
    line += "{\"answer\": ";
    append_quoted(line, span.string);
    line += ", \"score\": ";
    append_finite(line, span.score);
    line += fmt::format(", \"start\": {}, \"end\": {}}}", span.offset.begin, span.offset.end);
  }

  void append(std::string& line, const bert::Answer& answer) const {
    std::vector<bert::AnswerSpan> spans = {answer};
    spans.insert(spans.end(), answer.others.begin(), answer.others.end());
    if (may_be_none) {  // it stands behind those that are as likely
      const auto place = std::ranges::find_if(
          spans, [&](const auto& span) { return answer.no_answer > span.score; });
      spans.insert(place, {{}, "", answer.no_answer});
    }
    if (spans.size() > top_k) spans.resize(top_k);
    if (top_k == 1) return append_span(line, spans[0]);
    append_array(line, std::span<const bert::AnswerSpan>(spans), append_span);
  }

  Spelled operator()(const std::vector<bert::Answer>& all) const {
    Spelled out;
    out.tokens = 0;
    for (const bert::Answer& answer : all) *out.tokens += answer.tokens;
    if (nested) {
      append_array(out.body, std::span(all),
                   [&](std::string& line, const bert::Answer& answer) { append(line, answer); });
    } else {
      append(out.body, all[0]);
    }
    return out;
  }
};

std::vector<bert::Input> questions_of(const JsonObject& object, bool& is_batch) {
  const json* const found = object.find("inputs");
  if (found == nullptr) object.fail("inputs", "is missing");
  is_batch = found->is_array();
  const auto one = [](const json& value) -> bert::Input {
    const JsonObject question(value, kQuestion, "inputs.");
    return {*question.text("question"), question.text("context")};
  };
  if (!is_batch) return {one(*found)};
  std::vector<bert::Input> questions;
  for (const json& value : *found) questions.push_back(one(value));
  return questions;
}

// What this library does in another way, which would give other answers than those asked for.
void refuse_parameter(const JsonObject& parameters, const char* name) {
  if (parameters.has(name)) {
    parameters.fail(name, "is not supported: windows are as long as the model allows");
  }
}

// The tokens that may stand for a mask, and the text with each of them.
struct FillMaskAnswer {
  const ServedModel& model;
  std::vector<bert::Encoding> encodings;
  size_t top_k;
  std::vector<int32_t> targets;  // sorted; or none: the best of the vocabulary
  bool nested;

  bool is_shown(int32_t id) const {
    return targets.empty() || std::ranges::binary_search(targets, id);
  }

  void append_fill(std::string& line, const bert::Blank::Fill& fill, size_t i, int32_t at,
                   bool is_only) const {
    std::vector<int64_t> ids(encodings[i].ids.begin(), encodings[i].ids.end());
    ids[at] = fill.id;
    std::erase(ids, model.reader.padding());
    line += "{\"score\": ";
    append_finite(line, fill.probability);
    line += fmt::format(", \"token\": {}, \"token_str\": ", fill.id);
    append_quoted(line, model.reader.decode_filled({fill.id}, false));
    line += ", \"sequence\": ";
    append_quoted(line, model.reader.decode_filled(ids, is_only));
    line += '}';
  }

  void append_blank(std::string& line, const bert::Blank& blank, size_t i, bool is_only) const {
    line += '[';
    size_t shown = 0;
    for (const bert::Blank::Fill& fill : blank.fills) {
      if (shown == top_k) break;
      if (!is_shown(fill.id)) continue;
      if (shown++ > 0) line += ", ";
      append_fill(line, fill, i, blank.token, is_only);
    }
    line += ']';
  }

  Spelled operator()(const std::vector<std::vector<bert::Blank>>& all) const {
    Spelled out;
    if (nested) out.body += '[';
    for (size_t i = 0; i < all.size(); ++i) {
      if (i > 0) out.body += ", ";
      const bool is_only = all[i].size() == 1;
      if (!is_only) out.body += '[';
      for (size_t j = 0; j < all[i].size(); ++j) {
        if (j > 0) out.body += ", ";
        append_blank(out.body, all[i][j], i, is_only);
      }
      if (!is_only) out.body += ']';
    }
    if (nested) out.body += ']';
    return out;
  }
};

std::vector<int32_t> target_ids(const Call& call, const ServedModel& model,
                                const JsonObject& task) {
  std::vector<int32_t> ids;
  if (!task.has("targets")) return ids;
  bool is_batch = false;
  const std::vector<std::string> targets = task.some_text("targets", is_batch);
  call.check_batch(targets.size(), "targets");
  for (const std::string& target : targets) {
    if (const auto id = model.reader.id_of(target)) {  // SentencePiece would put U+2581 before it
      ids.push_back(*id);
      continue;
    }
    const std::vector<TextToken> tokens = model.reader.tokens(target, {}, false);
    if (tokens.size() != 1) {
      task.fail("targets",
                fmt::format("hold '{}', which is {} tokens, expected one", target, tokens.size()));
    }
    ids.push_back(tokens[0].id);
  }
  std::ranges::sort(ids);
  return ids;
}

// Each encoding must have one.
int64_t count_masks(const ServedModel& model, const std::vector<bert::Encoding>& encodings) {
  const int32_t mask = model.model.tokenizer().mask_id();
  if (mask < 0) throw RequestError(Refusal::backend, "the tokenizer has no mask token");
  int64_t all = 0;
  for (const bert::Encoding& encoding : encodings) {
    const int64_t masks = std::ranges::count(encoding.ids, mask);
    all += masks;
    if (masks > 0) continue;
    throw RequestError(
        Refusal::validation,
        fmt::format("No mask_token ({}) found on the input", model.model.tokenizer().token(mask)),
        "inputs");
  }
  return all;
}

}  // namespace

Work tag_work(const Call& call, const ServedModel& model) {
  const JsonObject task = call.task(kTagTask);
  const bert::Aggregation aggregation = aggregation_of(task, model.model);
  bert::TagOptions tag = {.aggregation = aggregation};
  tag.stride = static_cast<int>(task.whole("stride", 0, kMostTokens).value_or(tag.stride));
  tag.labels = task.texts("candidate_labels");
  tag.threshold = task.fraction("threshold").value_or(tag.threshold);
  tag.nested = task.flag("nested", false);
  tag.multi_label = task.flag("multi_label", false);
  Work work;
  work.failure = Refusal::validation;
  std::vector<bert::Input> texts;
  for (std::string& text : task.some_text("inputs", work.is_batch))
    texts.push_back({std::move(text)});
  call.check_batch(texts.size(), "inputs");
  count_texts(texts, work);
  work.numbers = count_spans(tag, work.characters);
  TagAnswer answer = {aggregation == bert::Aggregation::none ? "entity" : "entity_group",
                      task.texts("ignore_labels"), work.is_batch, call.state.limits.answer_bytes};
  std::ranges::sort(answer.ignored);
  if (task.has("ignore_labels") && !std::ranges::binary_search(answer.ignored, "O")) {
    task.fail("ignore_labels", "must contain \"O\", which is always left out");
  }
  set_ask<std::vector<bert::Tags>>(
      work,
      [&model, texts = std::move(texts), tag](auto options, auto done) mutable {
        model.queue.tag(std::move(texts), tag, std::move(options), std::move(done));
      },
      std::move(answer));
  return work;
}

Work answer_work(const Call& call, const ServedModel& model) {
  const JsonObject task = call.task(kAnswerTask);
  refuse_parameter(task, "max_seq_len");
  refuse_parameter(task, "max_question_len");
  if (!task.flag("align_to_words", true)) {
    task.fail("align_to_words", "is false, expected true: answers are whole words");
  }
  bert::AnswerOptions wanted;
  wanted.stride =
      static_cast<int>(task.whole("doc_stride", 0, kMostTokens).value_or(wanted.stride));
  wanted.most_tokens =
      static_cast<int>(task.whole("max_answer_len", 1, kMostTokens).value_or(wanted.most_tokens));
  wanted.top_k = static_cast<int>(task.whole("top_k", 1, kMostAnswers).value_or(wanted.top_k));
  Work work;
  work.failure = Refusal::validation;
  std::vector<bert::Input> questions = questions_of(task, work.is_batch);
  call.check_batch(questions.size(), "inputs");
  count_texts(questions, work);
  for (const bert::Input& question : questions) {
    const auto characters = static_cast<int64_t>(tokenizer::utf8::count_scalars(*question.second));
    work.numbers += wanted.top_k * std::min<int64_t>(wanted.most_tokens, characters);
  }
  const QuestionAnswer answer = {task.flag("handle_impossible_answer", false), work.is_batch,
                                 static_cast<size_t>(wanted.top_k)};
  set_ask<std::vector<bert::Answer>>(
      work,
      [&model, questions = std::move(questions), wanted](auto options, auto done) mutable {
        model.queue.answer(std::move(questions), wanted, std::move(options), std::move(done));
      },
      answer);
  return work;
}

Work fill_mask_work(const Call& call, const ServedModel& model) {
  const JsonObject task = call.task(kFillMaskTask);
  Work work;
  std::vector<bert::Input> texts;
  for (std::string& text : task.some_text("inputs", work.is_batch))
    texts.push_back({std::move(text)});
  call.check_batch(texts.size(), "inputs");
  std::vector<bert::Encoding> encodings =
      encode(call, model, texts, encode_options(call, task), work);
  const int64_t masks = count_masks(model, encodings);
  std::vector<int32_t> targets = target_ids(call, model, task);
  const auto top = task.whole("top_k", 1, model.info.vocabulary)
                       .value_or(targets.empty() ? 5 : std::ssize(targets));
  if (masks * top > kMostFills) {
    task.fail("inputs", fmt::format("have {} masks with {} tokens for each, expected at most {} in "
                                    "all",
                                    masks, top, kMostFills));
  }
  const int k = targets.empty() ? static_cast<int>(top) : model.info.vocabulary;
  if (masks * k > kMostProbabilities) {
    task.fail("targets",
              fmt::format("are for {} masks, expected at most {}", masks, kMostProbabilities / k));
  }
  work.numbers = masks * top * (work.tokens / std::ssize(encodings));  // a text for each fill
  FillMaskAnswer answer = {model, encodings, static_cast<size_t>(top), std::move(targets),
                           work.is_batch};
  set_ask<std::vector<std::vector<bert::Blank>>>(
      work,
      [&model, encodings = std::move(encodings), k](auto options, auto done) mutable {
        model.queue.fill_mask(std::move(encodings), k, std::move(options), std::move(done));
      },
      std::move(answer));
  return work;
}

}  // namespace bert::tools::serve

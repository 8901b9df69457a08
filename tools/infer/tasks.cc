// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/tasks.h"

#include <charconv>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace bert::tools {
namespace {

using nlohmann::ordered_json;

// The double whose shortest decimal is that of the float, so that JSON shows it.
double shown(float value) {
  if (!std::isfinite(value)) {
    throw bert::Error(fmt::format("the model answers {}, expected finite numbers", value));
  }
  char digits[32];
  const auto [end, error] = std::to_chars(digits, std::end(digits), value);
  double found = 0;
  std::from_chars(digits, end, found);
  return found;
}

ordered_json numbers(std::span<const float> values) {
  ordered_json array = ordered_json::array();
  for (const float value : values) array.push_back(shown(value));
  return array;
}

ordered_json matrix(const bert::Output& output, int64_t first, int64_t rows) {
  ordered_json array = ordered_json::array();
  for (int64_t i = first; i < first + rows; ++i) array.push_back(numbers(output.row(i)));
  return array;
}

std::vector<bert::Input> texts_of(std::span<const TaskInput> inputs) {
  std::vector<bert::Input> texts;
  for (const TaskInput& input : inputs) texts.push_back(input.texts);
  return texts;
}

// Those that a line gives as ids as they are.
std::vector<bert::Encoding> encodings_of(const bert::Model& model,
                                         std::span<const TaskInput> inputs) {
  std::vector<bert::Encoding> encodings = model.tokenize(texts_of(inputs));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].has_ids) encodings[i] = inputs[i].encoding;
  }
  return encodings;
}

TaskAnswer of_encoding(const bert::Encoding& encoding) {
  return {{}, "", std::ssize(encoding.ids), encoding.truncated};
}

std::vector<TaskAnswer> fill_mask(const bert::Model& model, const InferOptions& options,
                                  std::span<const TaskInput> inputs) {
  const std::vector<bert::Encoding> encodings = encodings_of(model, inputs);
  const auto found = model.fill_mask(encodings, options.top_k);
  std::vector<TaskAnswer> answers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    TaskAnswer& answer = answers.emplace_back(of_encoding(encodings[i]));
    ordered_json blanks = ordered_json::array();
    for (const bert::Blank& blank : found[i]) {
      ordered_json fills = ordered_json::array();
      std::string line;
      for (const auto& fill : blank.fills) {
        fills.push_back(
            {{"token", fill.token}, {"id", fill.id}, {"probability", shown(fill.probability)}});
        line += fmt::format("{}{} {:.4f}", line.empty() ? "" : ", ", fill.token, fill.probability);
      }
      blanks.push_back({{"token", blank.token}, {"fills", fills}});
      answer.text += (answer.text.empty() ? "" : "\n") + line;
    }
    answer.json["masks"] = blanks;
    if (found[i].empty()) answer.text = "no mask token in the text";
  }
  return answers;
}

ordered_json span_json(const bert::Span& span) {
  return {{"text", span.text},      {"begin", span.offset.begin},
          {"end", span.offset.end}, {"string", span.string},
          {"label", span.label},    {"probability", shown(span.probability)}};
}

std::vector<TaskAnswer> tag(const bert::Model& model, std::span<const TaskInput> inputs) {
  std::vector<TaskAnswer> answers;
  for (const bert::Tags& tags : model.tag(texts_of(inputs))) {
    TaskAnswer& answer = answers.emplace_back();
    answer.tokens = tags.tokens;
    answer.truncated = tags.truncated;
    answer.json["entities"] = ordered_json::array();
    answer.json["words"] = ordered_json::array();
    for (const bert::Span& span : tags.entities) {
      answer.json["entities"].push_back(span_json(span));
      answer.text += fmt::format("{}{}: {} {:.4f}", answer.text.empty() ? "" : "\n", span.string,
                                 span.label, span.probability);
    }
    for (const bert::Span& span : tags.words) answer.json["words"].push_back(span_json(span));
    if (tags.entities.empty()) answer.text = "no entities";
  }
  return answers;
}

std::vector<TaskAnswer> answer_questions(const bert::Model& model, const InferOptions& options,
                                         std::span<const TaskInput> inputs) {
  std::vector<TaskAnswer> answers;
  for (const bert::Answer& found : model.answer(texts_of(inputs), options.answer)) {
    TaskAnswer& answer = answers.emplace_back();
    answer.tokens = found.tokens;
    answer.json = {{"answer", found.string},
                   {"begin", found.offset.begin},
                   {"end", found.offset.end},
                   {"score", shown(found.score)},
                   {"no_answer", shown(found.no_answer)},
                   {"windows", found.windows}};
    answer.text = fmt::format("{}  {:.4f}  (no answer: {:.4f}; characters {} to {})", found.string,
                              found.score, found.no_answer, found.offset.begin, found.offset.end);
  }
  return answers;
}

std::vector<TaskAnswer> choose(const bert::Model& model, std::span<const TaskInput> inputs) {
  std::vector<bert::Choices> choices;
  for (const TaskInput& input : inputs) choices.push_back({input.texts.first, input.choices});
  const std::vector<bert::Choice> found = model.choose(choices);
  std::vector<TaskAnswer> answers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    TaskAnswer& answer = answers.emplace_back();
    answer.tokens = found[i].tokens;
    answer.truncated = found[i].truncated;
    answer.json = {{"choice", found[i].index},
                   {"string", inputs[i].choices[found[i].index]},
                   {"probabilities", numbers(found[i].probabilities)},
                   {"logits", numbers(found[i].logits)}};
    answer.text = fmt::format("{}  {:.4f}  [", inputs[i].choices[found[i].index],
                              found[i].probabilities[found[i].index]);
    for (size_t j = 0; j < found[i].probabilities.size(); ++j) {
      answer.text += fmt::format("{}{:.4f}", j > 0 ? ", " : "", found[i].probabilities[j]);
    }
    answer.text += ']';
  }
  return answers;
}

// The cosine of the two texts' embeddings, each made of its text alone.
std::vector<TaskAnswer> similarity(const bert::Model& model, std::span<const TaskInput> inputs) {
  std::vector<bert::Input> texts;
  for (const TaskInput& input : inputs) {
    texts.push_back({input.texts.first});
    texts.push_back({*input.texts.second});
  }
  const std::vector<bert::Encoding> encodings = model.tokenize(texts);
  const bert::Output embeddings = model.embed(encodings);
  std::vector<TaskAnswer> answers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto row = static_cast<int64_t>(2 * i);
    double product = 0, first = 0, second = 0;
    for (int64_t j = 0; j < embeddings.columns; ++j) {
      const double a = embeddings.row(row)[j], b = embeddings.row(row + 1)[j];
      product += a * b;
      first += a * a;
      second += b * b;
    }
    const auto cosine = static_cast<float>(product / std::sqrt(std::max(first * second, 1e-60)));
    TaskAnswer& answer = answers.emplace_back();
    answer.tokens = std::ssize(encodings[row].ids) + std::ssize(encodings[row + 1].ids);
    answer.truncated = encodings[row].truncated || encodings[row + 1].truncated;
    answer.json["similarity"] = shown(cosine);
    answer.text = fmt::format("{:.4f}", cosine);
  }
  return answers;
}

// hidden with --layers, attention, and logits of each token: JSON for a person too.
std::vector<TaskAnswer> features(const bert::Model& model, const InferOptions& options, Task task,
                                 std::span<const TaskInput> inputs) {
  const std::vector<bert::Encoding> encodings = encodings_of(model, inputs);
  std::vector<TaskAnswer> answers;
  answers.reserve(encodings.size());
  for (const bert::Encoding& encoding : encodings) answers.push_back(of_encoding(encoding));
  if (task == Task::logits) {
    const auto logits = model.run_tokens(encodings);
    for (size_t i = 0; i < inputs.size(); ++i) {
      answers[i].json["logits"] = matrix(logits[i], 0, logits[i].rows);
    }
  } else if (task == Task::hidden) {
    const auto hidden = model.hidden(encodings, options.layers);
    for (size_t i = 0; i < inputs.size(); ++i) {
      for (size_t j = 0; j < options.layers.size(); ++j) {
        const bert::Output& states = hidden[i].layers[j];
        answers[i].json["layers"][std::to_string(options.layers[j])] =
            matrix(states, 0, states.rows);
      }
    }
  } else {
    const auto attention = model.attention(encodings, options.layers);
    for (size_t i = 0; i < inputs.size(); ++i) {
      for (size_t j = 0; j < options.layers.size(); ++j) {
        const bert::Output& rows = attention[i].layers[j];
        ordered_json heads = ordered_json::array();
        for (int64_t at = 0; at < rows.rows; at += rows.columns) {
          heads.push_back(matrix(rows, at, rows.columns));
        }
        answers[i].json["attention"][std::to_string(options.layers[j])] = std::move(heads);
      }
    }
  }
  for (TaskAnswer& answer : answers) answer.text = answer.json.dump();
  return answers;
}

}  // namespace

void check_texts(const TaskInput& input, Task task) {
  if (task == Task::choose && input.choices.empty()) {
    throw std::runtime_error("there are no choices, expected a text and its choices");
  }
  if ((task == Task::answer || task == Task::similarity) && !input.texts.second) {
    throw std::runtime_error("there is one text, expected two");
  }
}

TaskInput parse_task_line(std::string_view line, InputFormat format, Task task) {
  TaskInput input;
  if (task == Task::choose) {
    bert::Choices parsed = parse_choices(line, format);
    input.texts.first = std::move(parsed.first);
    input.choices = std::move(parsed.choices);
    check_texts(input, task);
    return input;
  }
  auto parsed = parse_line(line, format);
  if (auto* encoding = std::get_if<bert::Encoding>(&parsed)) {
    if (task == Task::tag || task == Task::answer || task == Task::similarity) {
      throw std::runtime_error("\"ids\" are given, but this task needs text");
    }
    input.encoding = std::move(*encoding);
    input.has_ids = true;
    return input;
  }
  input.texts = std::get<bert::Input>(std::move(parsed));
  check_texts(input, task);
  return input;
}

std::vector<TaskAnswer> answer_task(const bert::Model& model, const InferOptions& options,
                                    Task task, std::span<const TaskInput> inputs) {
  switch (task) {
    case Task::fill_mask:
      return fill_mask(model, options, inputs);
    case Task::tag:
      return tag(model, inputs);
    case Task::answer:
      return answer_questions(model, options, inputs);
    case Task::choose:
      return choose(model, inputs);
    case Task::similarity:
      return similarity(model, inputs);
    default:
      return features(model, options, task, inputs);
  }
}

}  // namespace bert::tools

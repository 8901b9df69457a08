// SPDX-License-Identifier: Apache-2.0
//
// Inputs that are more than a sequence of tokens: pairs for one task, texts for another, choices.
// And many inputs, in a Window.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "tools/console/lines/input_lines.h"
#include "tools/infer/inputs/task_inputs.h"
#include "tools/infer/task_table.h"

namespace bert::tools {
namespace {

// A token is about four bytes.
int64_t estimated_tokens(const std::string& text) { return 1 + std::ssize(text) / 4; }

template <typename T>
void move_to_end(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::move_iterator(from.begin()), std::move_iterator(from.end()));
}

}  // namespace

void Window::append(Window other) {
  for (Refused& each : other.refused) each.before += sources.size();
  if (!other.strings.empty()) strings.resize(encodings.size());
  move_to_end(other.strings, strings);
  move_to_end(other.encodings, encodings);
  move_to_end(other.texts, texts);
  move_to_end(other.choices, choices);
  move_to_end(other.sources, sources);
  move_to_end(other.refused, refused);
  tokens += other.tokens;
}

void InputMaker::add_strings(std::span<const bert::Input> texts, Window& window) const {
  window.strings.resize(window.encodings.size() - texts.size());
  for (const bert::Input& text : texts) window.strings.push_back(loaded_.tokenizer.strings(text));
}

void InputMaker::check(const LineInput& input) const {
  if (const auto* const ids = std::get_if<bert::Encoding>(&input)) {
    if (kind_ != InputKind::sequence) {
      throw std::runtime_error("\"ids\" are given, but this task needs text");
    }
    // Ids are not truncated: what would be left might not end in [SEP].
    const int limit = options_.load.max_length;
    if (limit > 0 && std::ssize(ids->ids) > limit) {
      throw std::runtime_error(fmt::format(
          "\"ids\" holds {} ids, expected at most {} (--max-length)", ids->ids.size(), limit));
    }
  } else if (const auto* const choices = std::get_if<bert::Choices>(&input)) {
    if (choices->choices.empty()) {
      throw std::runtime_error("there are no choices, expected a text and its choices");
    }
  } else if (kind_ == InputKind::pair || kind_ == InputKind::two_sequences) {
    if (!std::get<bert::Input>(input).second) {
      throw std::runtime_error("there is one text, expected two");
    }
  } else if (kind_ == InputKind::single_text && std::get<bert::Input>(input).second) {
    throw std::runtime_error("there are two texts, expected one");
  }
}

std::vector<bert::Encoding> InputMaker::encode(std::span<const bert::Input> texts) const {
  if (loaded_.task == Task::multi_vector) return loaded_.model->tokenize(texts, options_.role);
  const bert::Tokenizer& tokenizer = loaded_.tokenizer;
  return tokenizer.encode(texts, options_.load.threads * std::max(1, options_.load.workers));
}

void InputMaker::add_texts(std::span<bert::Input> texts, std::span<Source> sources,
                           Window& window) const {
  if (kind_ == InputKind::sequence) {
    for (bert::Encoding& encoding : encode(texts)) window.add(std::move(encoding));
    if (loaded_.task == Task::tokens) add_strings(texts, window);
  } else {
    add_other_texts(texts, window);
  }
  for (Source& source : sources) window.sources.push_back(std::move(source));
}

Window InputMaker::of_other(bert::Input text) const {
  check(text);
  Source source;
  Window window;
  try {
    add_texts({&text, 1}, {&source, 1}, window);
  } catch (const bert::Error& error) {
    throw std::runtime_error(std::string(reason_alone(error.what())));
  }
  return window;
}

void InputMaker::add_other_texts(std::span<bert::Input> texts, Window& window) const {
  if (kind_ == InputKind::two_sequences && loaded_.info.embedding == 0 &&
      loaded_.info.token_vector > 0) {  // a query and a document
    std::vector<bert::Input> queries, documents;
    for (const bert::Input& text : texts) {
      queries.push_back({text.first});
      documents.push_back({*text.second});
    }
    auto first = loaded_.model->tokenize(queries, bert::Role::query);
    auto second = loaded_.model->tokenize(documents, bert::Role::document);
    for (size_t i = 0; i < texts.size(); ++i) {
      window.add(std::move(first[i]));
      window.add(std::move(second[i]));
    }
  } else if (kind_ == InputKind::two_sequences) {
    std::vector<bert::Input> alone;
    for (const bert::Input& text : texts) {
      alone.push_back({text.first});
      alone.push_back({*text.second});
    }
    for (bert::Encoding& encoding : encode(alone)) window.add(std::move(encoding));
  } else {
    for (bert::Input& text : texts) {
      window.tokens +=
          estimated_tokens(text.first) + (text.second ? estimated_tokens(*text.second) : 0);
      window.texts.push_back(std::move(text));
    }
  }
}

void InputMaker::add_parsed(LineInput input, Source source, Window& window) {
  if (auto* const choices = std::get_if<bert::Choices>(&input)) {
    for (const std::string& choice : choices->choices) {
      window.tokens += estimated_tokens(choices->first) + estimated_tokens(choice);
    }
    window.choices.push_back(std::move(*choices));
  } else {
    window.add(std::get<bert::Encoding>(std::move(input)));
  }
  window.sources.push_back(std::move(source));
}

Window InputMaker::texts_from_arguments() const {
  std::vector<bert::Input> texts;
  std::vector<Source> sources;
  for (const std::string& argument : options_.arguments) {
    texts.push_back({argument});
    sources.push_back({.index = std::ssize(sources)});
  }
  Window window;
  add_texts(texts, sources, window);
  return window;
}

Window InputMaker::many_from_arguments() const {
  if (kind_ == InputKind::single_text) return texts_from_arguments();
  const std::vector<std::string>& arguments = options_.arguments;
  const LineInput input = bert::Choices{arguments[0], {arguments.begin() + 1, arguments.end()}};
  check(input);
  Window window;
  add_parsed(input, {}, window);
  return window;
}

}  // namespace bert::tools

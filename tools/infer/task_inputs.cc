// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/task_inputs.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tools/console/input_lines.h"
#include "tools/infer/task_table.h"

namespace bert::tools {
namespace {

void add_encoding(bert::Encoding encoding, Window& window) {
  window.tokens += std::max<int64_t>(1, std::ssize(encoding.ids));
  window.encodings.push_back(std::move(encoding));
}

// A token is about four bytes.
int64_t estimated_tokens(const std::string& text) { return 1 + std::ssize(text) / 4; }

}  // namespace

InputMaker::InputMaker(const InferOptions& options, const LoadedModel& loaded)
    : options_(options), tokenizer_(loaded.tokenizer), kind_(traits(loaded.task).input) {}

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
  }
}

std::vector<bert::Encoding> InputMaker::encode(std::span<const bert::Input> texts) const {
  return tokenizer_.encode(texts, options_.load.threads * std::max(1, options_.load.workers));
}

void InputMaker::add_texts(std::span<bert::Input> texts, std::span<Source> sources,
                           Window& window) const {
  if (kind_ == InputKind::sequence) {
    for (auto& encoding : encode(texts)) add_encoding(std::move(encoding), window);
  } else if (kind_ == InputKind::two_sequences) {
    std::vector<bert::Input> alone;
    for (const bert::Input& text : texts) {
      alone.push_back({text.first});
      alone.push_back({*text.second});
    }
    for (auto& encoding : encode(alone)) add_encoding(std::move(encoding), window);
  } else {
    for (bert::Input& text : texts) {
      window.tokens +=
          estimated_tokens(text.first) + (text.second ? estimated_tokens(*text.second) : 0);
      window.texts.push_back(std::move(text));
    }
  }
  for (Source& source : sources) window.sources.push_back(std::move(source));
}

void InputMaker::add_parsed(LineInput input, Source source, Window& window) {
  if (auto* const choices = std::get_if<bert::Choices>(&input)) {
    for (const std::string& choice : choices->choices) {
      window.tokens += estimated_tokens(choices->first) + estimated_tokens(choice);
    }
    window.choices.push_back(std::move(*choices));
  } else {
    add_encoding(std::get<bert::Encoding>(std::move(input)), window);
  }
  window.sources.push_back(std::move(source));
}

Window InputMaker::from_arguments() const {
  const std::vector<std::string>& arguments = options_.arguments;
  Window window;
  Source source;
  if (kind_ == InputKind::choices) {
    const LineInput input = bert::Choices{arguments[0], {arguments.begin() + 1, arguments.end()}};
    check(input);
    add_parsed(input, source, window);
    return window;
  }
  bert::Input text = {arguments[0]};
  if (arguments.size() > 1) text.second = arguments[1];
  check(text);
  try {
    add_texts({&text, 1}, {&source, 1}, window);
  } catch (const bert::Error& error) {
    throw std::runtime_error(std::string(reason_alone(error.what())));
  }
  return window;
}

}  // namespace bert::tools

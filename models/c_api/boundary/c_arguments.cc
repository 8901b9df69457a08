// SPDX-License-Identifier: Apache-2.0
#include "models/c_api/boundary/c_arguments.h"

#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace bert::c_api {
namespace {

template <typename T>
std::span<const T> read_array(const T* values, size_t count, std::string_view name) {
  if (count > PTRDIFF_MAX / sizeof(T)) {
    throw InvalidArgument(fmt::format("{} of {} elements do not fit into memory", name, count));
  }
  if (count > 0) required(values, name);
  return {values, count};
}

std::string read_text(const bert_text& text, std::string_view name) {
  required(text.data, fmt::format("{}.data", name));
  if (text.size > PTRDIFF_MAX) {
    throw InvalidArgument(fmt::format("{}.size is {}, more than memory", name, text.size));
  }
  return {text.data, text.size};
}

}  // namespace

std::vector<Input> read_inputs(const bert_input* inputs, size_t count) {
  std::vector<Input> read;
  for (const bert_input& input : read_array(inputs, count, "inputs")) {
    const std::string name = fmt::format("inputs[{}]", read.size());
    Input& texts = read.emplace_back();
    texts.first = read_text(input.first, name + ".first");
    if (input.second.data != nullptr || input.second.size > 0) {
      texts.second = read_text(input.second, name + ".second");
    }
  }
  return read;
}

std::vector<Encoding> read_inputs(const bert_encoding* encodings, size_t count) {
  std::vector<Encoding> read;
  for (const bert_encoding& encoding : read_array(encodings, count, "encodings")) {
    const std::string name = fmt::format("encodings[{}]", read.size());
    Encoding& tokens = read.emplace_back();
    const auto ids = read_array(encoding.ids, encoding.size, name + ".ids");
    tokens.ids.assign(ids.begin(), ids.end());
    if (encoding.type_ids == nullptr) {
      tokens.type_ids.resize(ids.size());
    } else {
      tokens.type_ids.assign(encoding.type_ids, encoding.type_ids + encoding.size);
    }
    tokens.truncated = encoding.truncated != 0;
    tokens.unattended = encoding.unattended;
  }
  return read;
}

std::vector<Choices> read_inputs(const bert_choices* inputs, size_t count) {
  std::vector<Choices> read;
  for (const bert_choices& input : read_array(inputs, count, "inputs")) {
    const std::string name = fmt::format("inputs[{}]", read.size());
    Choices& question = read.emplace_back();
    question.first = read_text(input.first, name + ".first");
    for (const bert_text& choice :
         read_array(input.choices, input.choice_count, name + ".choices")) {
      question.choices.push_back(
          read_text(choice, fmt::format("{}.choices[{}]", name, question.choices.size())));
    }
  }
  return read;
}

Role read_role(int32_t role) {
  if (role == BERT_QUERY) return Role::query;
  if (role == BERT_DOCUMENT) return Role::document;
  throw InvalidArgument(fmt::format("unknown role {}", static_cast<int>(role)));
}

std::vector<int> read_layers(const int32_t* layers, size_t count) {
  const auto given = read_array(layers, count, "layers");
  return {given.begin(), given.end()};
}

std::span<const int32_t> read_ids(const int32_t* ids, size_t count) {
  return read_array(ids, count, "ids");
}

std::span<const float> read_floats(const float* values, size_t count, std::string_view name) {
  return read_array(values, count, name);
}

}  // namespace bert::c_api

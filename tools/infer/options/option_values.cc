// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/options/option_values.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "tokenizer/unicode/utf8.h"
#include "tools/console/command_line.h"

namespace bert::tools {
namespace {

// Splits "id,label".
std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    names.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

}  // namespace

std::vector<std::string> names_of(std::string_view text) {
  check_utf8("--keep", text);
  std::vector<std::string> names = split_at_commas(text);
  for (const std::string& name : names) {
    for (const char* input : {"", "first", "second", "choices", "choice", "ids", "type_ids"}) {
      if (name != input) continue;
      throw UsageError(fmt::format("--keep {}: '{}' is not the name of a key to keep", text, name));
    }
  }
  return names;
}

void check_utf8(const char* option, std::string_view text) {
  const size_t at = tokenizer::utf8::first_invalid(text);
  if (at == std::string_view::npos) return;
  throw UsageError(fmt::format("{} is not valid UTF-8 at byte {}", option, at));
}

std::vector<std::string> labels_of(std::string_view text) {
  std::vector<std::string> labels;
  for (const std::string& name : split_at_commas(text)) {
    const size_t begin = name.find_first_not_of(' ');
    if (begin == std::string::npos) {
      throw UsageError(fmt::format("--labels {}: a label is empty", text));
    }
    labels.push_back(name.substr(begin, name.find_last_not_of(' ') + 1 - begin));
    if (std::ranges::count(labels, labels.back()) > 1) {
      throw UsageError(fmt::format("--labels {}: '{}' is given twice", text, labels.back()));
    }
  }
  return labels;
}

float probability_of(const std::string& text) {
  float value = 0;
  const char* end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && next == end && value >= 0 && value <= 1) return value;
  throw UsageError(fmt::format("--threshold {}: expected a probability from 0 to 1", text));
}

// CLI11 would accept "0,,-1" too.
std::vector<int> layers_of(std::string_view text) {
  std::vector<int> layers;
  const char *at = text.data(), *end = at + text.size();
  for (;; ++at) {
    int layer = 0;
    const auto [next, error] = std::from_chars(at, end, layer);
    if (error == std::errc() && std::ranges::find(layers, layer) != layers.end()) {
      throw UsageError(fmt::format("--layers {}: {} is given twice", text, layer));
    }
    layers.push_back(layer);
    if (error == std::errc() && next == end) return layers;
    if (error != std::errc() || *next != ',') {
      throw UsageError(
          fmt::format("--layers {}: expected whole numbers separated by commas", text));
    }
    at = next;
  }
}

}  // namespace bert::tools

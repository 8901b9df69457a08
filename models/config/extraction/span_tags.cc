// SPDX-License-Identifier: Apache-2.0
#include "models/config/extraction/span_tags.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/weights/json_file.h"

namespace bert::models {
namespace {

int SpanTags::Kind::*part_of(char letter) {
  switch (letter) {
    case 'B':
      return &SpanTags::Kind::begin;
    case 'I':
      return &SpanTags::Kind::inside;
    case 'E':
      return &SpanTags::Kind::end;
    case 'S':
      return &SpanTags::Kind::single;
    default:
      return nullptr;
  }
}

std::optional<SpanTags> find_span_tags(const std::vector<std::string>& labels) {
  SpanTags tags;
  std::map<std::string, SpanTags::Kind> kinds;
  for (size_t i = 0; i < labels.size(); ++i) {
    const std::string& label = labels[i];
    const bool has_kind = label.size() > 2 && label[1] == '-' && part_of(label[0]);
    if (label != "O" && !has_kind) return std::nullopt;
    int& found = has_kind ? kinds[label.substr(2)].*part_of(label[0]) : tags.outside;
    if (std::exchange(found, static_cast<int>(i)) >= 0) return std::nullopt;
  }
  for (const auto& [name, kind] : kinds) {
    if (std::min({kind.begin, kind.inside, kind.end, kind.single}) < 0) return std::nullopt;
    tags.kinds.push_back(kind);
  }
  if (tags.outside < 0 || kinds.empty()) return std::nullopt;
  return tags;
}

// As the published code reads them, all six are there.
SpanTags::Biases read_biases(const std::string& path) {
  const JsonFile file(path);
  const JsonField stored = file.at("operating_points").at("default").at("biases");
  const auto read = [&](const char* name) {
    const JsonField field = stored.at(name);
    const double value = field.number();
    if (!std::isfinite(value)) field.fail("a finite number");
    return static_cast<float>(value);
  };
  return {.stay_outside = read("transition_bias_background_stay"),
          .outside_to_start = read("transition_bias_background_to_start"),
          .inside_to_continue = read("transition_bias_inside_to_continue"),
          .inside_to_end = read("transition_bias_inside_to_end"),
          .end_to_outside = read("transition_bias_end_to_background"),
          .end_to_start = read("transition_bias_end_to_start")};
}

}  // namespace

std::optional<SpanTags> read_span_tags(const std::vector<std::string>& labels,
                                       const std::string& directory) {
  std::optional<SpanTags> tags = find_span_tags(labels);
  const std::string path = directory + "/viterbi_calibration.json";
  if (tags && is_there(path)) tags->biases = read_biases(path);
  return tags;
}

}  // namespace bert::models

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cmath>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/bert_infer.h"
#include "tools/console/json_text.h"

namespace bert::tools {

// JSON cannot spell NaN and infinities, and people should not take them for an answer.
class NonFinite : public std::runtime_error {
 public:
  explicit NonFinite(float value)
      : runtime_error(fmt::format("the model produced {}, expected finite numbers", value)) {}
};

// Appends an integer, or the shortest decimal that reads back to the same float.
template <typename Number>
void append_number(std::string& line, Number value) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, std::end(digits), value);
  line.append(digits, end);
}

// Appends [v, ...], each value by append(line, v).
template <typename T, typename Append>
void append_array(std::string& line, std::span<const T> values, Append append) {
  line += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) line += ", ";
    append(line, values[i]);
  }
  line += ']';
}

inline void append_finite(std::string& line, float value) {
  if (!std::isfinite(value)) throw NonFinite(value);
  append_number(line, value);
}

// Written at once, not through a JSON document: the numbers may be many millions.
inline void append_rows(std::string& line, const bert::Output& output, int64_t first,
                        int64_t rows) {
  line += '[';
  for (int64_t i = first; i < first + rows; ++i) {
    if (i > first) line += ", ";
    append_array(line, output.row(i), append_finite);
  }
  line += ']';
}

inline void append_rows(std::string& line, const bert::Output& output) {
  append_rows(line, output, 0, output.rows);
}

// The double whose shortest decimal is that of the float, so that JSON shows that.
inline double json_number(float value) {
  if (!std::isfinite(value)) throw NonFinite(value);
  char digits[32];
  const auto [end, error] = std::to_chars(digits, std::end(digits), value);
  double found = 0;
  std::from_chars(digits, end, found);
  return found;
}

inline nlohmann::ordered_json json_array(std::span<const float> values) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const float value : values) array.push_back(json_number(value));
  return array;
}

// The object's text without its braces.
inline void append_members(std::string& line, const nlohmann::ordered_json& object) {
  std::string text;
  append_json(text, object);
  line.append(text, 1, text.size() - 2);
}

}  // namespace bert::tools

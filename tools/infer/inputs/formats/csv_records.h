// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/console/lines/input_lines.h"

namespace bert::tools {

// Lines, or the records of a .csv (RFC 4180), where a line break in quotes does not end one.
class RecordReader {
 public:
  RecordReader(LineReader& lines, const std::string& name, bool is_csv)
      : lines_(lines), name_(name), is_csv_(is_csv) {}

  // Valid until the next call. Throws std::runtime_error, with the line, if quotes are not closed.
  std::optional<std::string_view> next();
  bool ready() const { return lines_.ready(); }
  int64_t number() const { return number_; }  // the record's first line, from 1

 private:
  LineReader& lines_;
  const std::string& name_;
  const bool is_csv_;
  std::string record_;  // of several lines
  int64_t number_ = 0;
};

// Throws std::runtime_error where a quote stands in the wrong place.
std::vector<std::string> csv_fields(std::string_view record);

}  // namespace bert::tools

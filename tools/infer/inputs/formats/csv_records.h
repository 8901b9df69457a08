// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/console/lines/input_lines.h"

namespace bert::tools {

struct Record {
  std::string_view text;
  int64_t number = 0;       // of its first line, from 1
  std::string reason = {};  // why it cannot be read, or empty
};

class Quotes;

// Lines, or the records of a .csv (RFC 4180), where a line break in quotes does not end one. A
// quote opens nothing unless its field begins with it: csv_fields() refuses it, in its own line.
class RecordReader {
 public:
  RecordReader(LineReader& lines, bool is_csv) : lines_(lines), is_csv_(is_csv) {}

  // Valid until the next call.
  std::optional<Record> next();
  bool ready() const;  // whether next() would not wait for input

 private:
  // To record_, until its quotes are closed; sets the reason if it cannot be read.
  void add_lines(Quotes& quotes, std::string& reason);

  LineReader& lines_;
  const bool is_csv_;
  std::string record_;  // of several lines
};

// Throws std::runtime_error where a quote stands in the wrong place.
std::vector<std::string> csv_fields(std::string_view record);

}  // namespace bert::tools

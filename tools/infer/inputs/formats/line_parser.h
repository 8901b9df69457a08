// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/infer/inputs/task_inputs.h"
#include "tools/infer/options/infer_options.h"

namespace bert::tools {

// Lines of the input's format to inputs:
//   tsv    first, or first<TAB>second; one \r at the end is dropped
//   csv    the same fields in the columns that the first record names
//   txt    a text
//   jsonl  see json_line.h
// For multiple choice, the fields after the first are the choices.
class LineParser {
 public:
  // The options must outlive it.
  LineParser(const InferOptions& options, InputKind kind);

  // Whether the next line is the header of a .csv, for read_header().
  bool wants_header() const {
    return options_.input_format == InputFormat::csv && columns_.empty();
  }
  // Throws std::runtime_error for columns that are neither read nor kept.
  void read_header(std::string_view line);
  // Puts what is passed through in `kept`, as in a Source. Throws std::runtime_error with the
  // reason where the line is not an input.
  LineInput parse(std::string_view line, std::string& kept) const;
  // Whether there is nothing in the line.
  bool is_blank(std::string_view line) const;

 private:
  LineInput parse_csv(std::string_view line, std::string& kept) const;

  const InferOptions& options_;
  const bool chooses_;
  std::vector<std::string> columns_;
};

}  // namespace bert::tools

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "models/bert_infer.h"
#include "tools/answer_writer.h"
#include "tools/input_lines.h"

namespace bert::tools {

// bert-infer's command line, checked as far as it can be without opening a file.
struct InferOptions {
  std::optional<std::string> model;     // none: the demo model
  std::optional<bert::Input> argument;  // the text or pair of the command line; none: read `input`
  std::string input = "-";
  InputFormat input_format = InputFormat::tsv;
  std::string output = "-";
  OutputFormat output_format = OutputFormat::jsonl;
  Task task = Task::automatic;
  bert::Options load;
};

// Throws OutputError where --help cannot be written. The other possibility is the exit code, after
// printing help or what is wrong.
std::variant<InferOptions, int> parse_command_line(int argc, char** argv);

}  // namespace bert::tools

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "models/bert_infer.h"

namespace bert::tools {

// Options that make no sense, alone or together.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The frame of every tool: declares its options, adding --help (which prints the manual) and
// --version (and --list-options, from which the shells' completions are made), parses them, calls
// run() and reports what is thrown as one sentence on stderr. Returns the exit code: that of run(),
// 2 for a UsageError or options that cannot be parsed, 0 if nobody reads the output any more, 1 for
// any other error.
int run_tool(const char* name, const char* manual, int argc, char** argv,
             const std::function<void(CLI::App&)>& declare, const std::function<int()>& run);

// For transform(): a whole number, decimal even if it begins with 0.
CLI::Validator whole_number(int min, int max);

// A number of threads or workers, up to the library's limit.
inline CLI::Validator thread_count() { return whole_number(1, 1024); }

// A finite number of at least 0.
CLI::Validator non_negative();

// For check(): a text that is not "", which would mean that the option is not given.
CLI::Validator not_empty();

// Names, and what each stands for.
template <typename Value>
using Choices = std::vector<std::pair<std::string, Value>>;

// An option whose value is one of a few names.
template <typename Value>
CLI::Option* add_choice(CLI::App& app, const char* option, const Choices<Value>& choices,
                        Value& value) {
  std::vector<std::string> names;
  for (const auto& [name, meaning] : choices) names.push_back(name);
  return app.add_option(option)
      ->check(CLI::IsMember(names))
      ->each([choices, &value](const std::string& given) {
        for (const auto& [name, meaning] : choices) {
          if (name == given) value = meaning;
        }
      });
}

// What --model names, or else the demo model. Says which snapshot a name on the hub stands for.
std::string model_directory(const std::optional<std::string>& name);

// auto, f32, bf16, int8
const Choices<bert::Precision>& precisions();
// --precision with one of them.
void add_precision(CLI::App& app, bert::Precision& precision);
// --backend auto|onednn|panels
CLI::Option* add_backend(CLI::App& app, bert::Backend& backend);

}  // namespace bert::tools

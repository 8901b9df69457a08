// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <stdexcept>

#include <CLI/CLI.hpp>

#include "models/bert_infer.h"

namespace bert::tools {

// Options that cannot be meant.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What every tool does around its work: declares its options, with --help (which prints the manual)
// and --version, parses them, runs and turns what is thrown into a sentence on stderr. Returns the
// exit code: that of run, 2 for a UsageError or what cannot be parsed, 0 where nobody reads the
// output any more, 1 for all other errors.
int run_tool(const char* name, const char* manual, int argc, char** argv,
             const std::function<void(CLI::App&)>& declare, const std::function<int()>& run);

// For transform(): a whole number, in decimal even where it begins with a 0.
CLI::Validator whole(int least, int most);

// Of threads, or of workers: as many as the library takes.
inline CLI::Validator threads() { return whole(1, 1024); }

// A number from 0, which no NaN is.
CLI::Validator from_0();

// --precision auto|f32|bf16|int8
void add_precision(CLI::App& app, bert::Precision& precision);

}  // namespace bert::tools

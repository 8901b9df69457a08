// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "models/bert_infer.h"
#include "tools/serve/http/http_server.h"
#include "tools/serve/routes/route.h"
#include "tools/serve/served/served_models.h"

namespace bert::tools::serve {

// bert-serve's command line and environment.
struct ServeOptions {
  static const char* const kManual;
  void declare(CLI::App& app);
  // The models, with their names. Throws UsageError where two have one name.
  std::vector<ServedModels::Source> sources() const;
  // What several options say together, and the environment.
  void settle();

  std::vector<std::string> models, adapters;
  std::string host = "127.0.0.1", api_key, access_log = "none";
  int port = 3000, http_threads = 0;
  int64_t body = 8'000'000, bodies = 512'000'000;
  int connections = 4096;
  bert::Options load;
  ServeLimits limits;
  HttpLimits http;

 private:
  CLI::Option* with_variable(CLI::Option* option);
  struct Variable {
    std::string name;
    CLI::Option* option;
  };
  std::vector<Variable> variables_;  // of the environment
};

}  // namespace bert::tools::serve

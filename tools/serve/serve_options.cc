// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/serve_options.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "tools/console/command_line.h"

namespace bert::tools::serve {
namespace {

constexpr int kMost = 1'000'000'000;

// Refuses what a shell makes of a variable that is not set: an empty host would be all addresses,
// and an empty key none.
CLI::Validator text(const char* expected, const std::function<bool(std::string_view)>& is_right) {
  return {[=](const std::string& given) -> std::string {
            return !given.empty() && is_right(given) ? "" : fmt::format("expected {}", expected);
          },
          ""};
}

bool is_anything(std::string_view) { return true; }

// A header's value has no white space around it and no control characters.
bool is_header_value(std::string_view text) {
  return text.front() != ' ' && text.back() != ' ' &&
         std::ranges::none_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

// A token, as RFC 9110 calls it.
bool is_header_name(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

// A list with colons between its elements. On the command line each has an option of its own, as a
// path may have a colon.
void add_list(const char* variable, std::vector<std::string>& values) {
  const char* const list = std::getenv(variable);
  if (list == nullptr || *list == '\0' || !values.empty()) return;
  std::istringstream elements(list);
  for (std::string element; std::getline(elements, element, ':');) values.push_back(element);
}

// What a variable gives where the command line gives nothing. (CLI11 from 2.4 on ignores variables
// whose value is wrong, as if a key that is no key were none.)
void take_variable(const std::string& variable, CLI::Option& option) {
  const char* const value = std::getenv(variable.c_str());
  if (value == nullptr || *value == '\0' || option.count() > 0) return;
  try {
    option.add_result(value);
    option.run_callback();
  } catch (const CLI::Error& error) {
    std::string reason = error.what();
    const std::string name = option.get_name() + ": ";
    if (reason.starts_with(name)) reason.erase(0, name.size());
    throw UsageError(fmt::format("{}: {}", variable, reason));
  }
}

bool is_truth(std::string_view text) {
  bool value = false;
  return CLI::detail::lexical_cast(std::string(text), value);
}

// "NAME=ADAPTER" is for the model of that name, "ADAPTER" for all.
void add_adapter(const std::string& text, std::vector<ServedModels::Source>& sources) {
  const size_t equals = text.find('=');
  const std::string name = equals == std::string::npos ? "" : text.substr(0, equals);
  bool is_added = false;
  for (ServedModels::Source& source : sources) {
    if (equals != std::string::npos && source.name != name) continue;
    source.adapter = equals == std::string::npos ? text : text.substr(equals + 1);
    is_added = true;
  }
  if (!is_added) throw UsageError(fmt::format("--adapter {}: no model is called {}", text, name));
}

}  // namespace

// Each option has a variable of the environment: --max-body is BERT_SERVE_MAX_BODY.
CLI::Option* ServeOptions::with_variable(CLI::Option* option) {
  std::string name = option->get_lnames()[0];
  std::ranges::transform(name, name.begin(), [](char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  variables_.push_back({"BERT_SERVE_" + name, option});
  return option;
}

void ServeOptions::declare(CLI::App& app) {
  const auto number = [&](const char* name, int& value, int least, int most) {
    with_variable(app.add_option(name, value)->transform(whole_number(least, most)));
  };
  app.add_option("-m,--model", models)->type_name("DIR")->allow_extra_args(false);
  with_variable(app.add_option("--host", host)->check(text("an address", is_anything)));
  number("--port", port, 0, 65535);
  with_variable(app.add_option("--api-key", api_key)
                    ->check(text("a key without control characters, or white space around it",
                                 is_header_value)));
  number("--max-concurrent", limits.concurrent, 1, kMost);
  number("--max-batch-tokens", limits.batch_tokens, 1, kMost);
  number("--max-client-batch", limits.client_batch, 1, kMost);
  with_variable(app.add_option("--max-body", body)->transform(whole_number(1, kMost)));
  with_variable(app.add_option("--max-bodies", bodies)->transform(whole_number(1, kMost)));
  number("--max-connections", connections, 1, kMost);
  number("--timeout", limits.seconds, 1, kMost);
  with_variable(app.add_option("--auto-truncate", limits.auto_truncate)
                    ->expected(0, 1)
                    ->default_str("true")
                    ->check(text("true or false", is_truth)));
  with_variable(app.add_option("--client-header", http.caller_header)
                    ->type_name("NAME")
                    ->check(text("the name of a header", is_header_name)));
  with_variable(app.add_option("--access-log", access_log)
                    ->type_name("FILE")
                    ->check(text("a file, - or none", is_anything)));
  add_precision(app, load.precision);
  with_variable(app.get_option("--precision"));
  app.add_option("--adapter", adapters)->allow_extra_args(false);
  number("--workers", load.workers, 1, 1024);
  number("--threads", load.threads, 1, 1024);
  number("--http-threads", http_threads, 1, 1024);
}

void ServeOptions::settle() {
  for (const auto& [variable, option] : variables_) take_variable(variable, *option);
  add_list("BERT_SERVE_MODEL", models);
  add_list("BERT_SERVE_ADAPTER", adapters);
  // Empty variables count for nothing, but who sets this one wants a key to be asked for.
  const char* const key = std::getenv("BERT_SERVE_API_KEY");
  if (key != nullptr && *key == '\0' && api_key.empty()) {
    throw UsageError("BERT_SERVE_API_KEY is empty, expected a key");
  }
  limits.body_bytes = http.body_bytes = static_cast<size_t>(body);
  http.all_bodies = static_cast<size_t>(std::max(bodies, body));
  limits.answer_bytes = http.all_bodies;
  http.connections = static_cast<size_t>(connections);
  http.drain = std::max(http.drain, limits.seconds);
  load.batch_tokens = limits.batch_tokens;
  if (http_threads == 0) {
    http_threads = std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / 4, 1, 8);
  }
}

std::vector<ServedModels::Source> ServeOptions::sources() const {
  std::vector<ServedModels::Source> sources;
  if (models.empty()) sources.push_back({"demo", bert::demo_model()});
  for (const std::string& model : models) {
    const size_t equals = model.find('=');
    ServedModels::Source source;
    if (equals == std::string::npos) {
      const std::filesystem::path path = std::filesystem::path(model).lexically_normal();
      source = {path.has_filename() ? path.filename() : path.parent_path().filename(), model};
    } else {
      source = {model.substr(0, equals), model.substr(equals + 1)};
    }
    if (source.name.empty() || source.name == "." || source.name == "..") {
      throw UsageError(fmt::format("the model '{}' has no name, expected NAME=DIR", model));
    }
    if (std::ranges::any_of(sources,
                            [&](const auto& other) { return other.name == source.name; })) {
      throw UsageError(
          fmt::format("two models are called '{}', expected a name of its own for each "
                      "(NAME=DIR)",
                      source.name));
    }
    sources.push_back(std::move(source));
  }
  for (const std::string& adapter : adapters) add_adapter(adapter, sources);
  return sources;
}

}  // namespace bert::tools::serve

// SPDX-License-Identifier: Apache-2.0
#include "tools/console/command_line.h"

#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "engine/dense/product.h"
#include "tokenizer/unicode/printable.h"
#include "tools/console/output_file.h"
#include "tools/console/signals/bus_error.h"

namespace bert::tools {
namespace {

// If one of these were closed, a file opened later would get its number and receive our messages.
void keep_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// CLI11 would take the next argument as the value.
void refuse_empty_values(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--") && argument.find('=') == argument.size() - 1) {
      throw UsageError(fmt::format("{} has no value", argument));
    }
  }
}

// Messages may quote a model's files and inputs: a terminal must not obey them.
class MessageSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit MessageSink(std::string name) : name_(std::move(name)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& entry) override {
    const std::string_view payload(entry.payload.data(), entry.payload.size());
    const std::string line =
        fmt::format("{}: {}\n", name_, tokenizer::printable(payload, tokenizer::kMostOfMessage));
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
  void flush_() override { std::fflush(stderr); }

  const std::string name_;
};

// The reason in a sentence, which CLI11 does not always give.
std::string reason_of(const CLI::Error& error, const CLI::App& app) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {  // lists them from the last on
    return fmt::format("not expected: {}", fmt::join(app.remaining(), " "));
  }
  const std::string what = error.what();
  if (const size_t at = what.find(": At Most 1 required but received "); at != std::string::npos) {
    return what.substr(0, at) + " is given more than once";
  }
  if (what.starts_with("--") &&
      what.ends_with(" missing")) {  // "--output: 1 required FILE missing"
    return what.substr(0, what.find(':')) + " has no value";
  }
  return what;
}

int print(const std::string& text) {
  OutputFile out("-");
  out.append(text);
  out.close();
  return 0;
}

// A line for each option: its names, a tab, and what its value is: choices in braces, FILE, DIR or
// another word, or nothing for a flag.
std::string option_list(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    std::string value = option->get_expected_max() == 0 ? "" : option->get_type_name();
    if (option->get_expected_max() > 0 && value.empty()) value = "VALUE";
    text += fmt::format("{}\t{}\n", option->get_name(true, true),
                        value.substr(value.find('{') == std::string::npos ? 0 : value.find('{')));
  }
  return text;
}

}  // namespace

int run_tool(const char* name, const char* manual, int argc, char** argv,
             const std::function<void(CLI::App&)>& declare, const std::function<int()>& run) {
  keep_standard_descriptors();
  std::signal(SIGPIPE, SIG_IGN);  // writes report a closed pipe
  std::signal(SIGXFSZ, SIG_IGN);  // and a file at its size limit
  report_bus_errors(name);
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>(name, std::make_shared<MessageSink>(name)));
  CLI::App app;
  app.set_help_flag("-h,--help");
  app.set_version_flag("--version", [name] {
    return fmt::format("{} {}\n{}", name, bert::version(), engine::describe_products());
  });
  declare(app);
  const auto usage = [](const std::string& reason) {
    spdlog::error("{} (--help shows the options)", reason);
    return 2;
  };
  try {
    try {
      if (argc == 2 && std::string_view(argv[1]) == "--list-options")
        return print(option_list(app));
      refuse_empty_values(argc, argv);
      app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
      return print(manual);
    } catch (const CLI::CallForVersion& version) {
      return print(version.what());
    }
    return run();
  } catch (const CLI::Error& error) {
    return usage(reason_of(error, app));
  } catch (const UsageError& error) {
    return usage(error.what());
  } catch (const ClosedPipe&) {
    return 0;
  } catch (const std::bad_alloc&) {
    spdlog::error("out of memory");
    return 1;
  } catch (const std::system_error& error) {
    // std::thread does not say what it could not do.
    const bool is_thread = error.code() == std::errc::resource_unavailable_try_again;
    spdlog::error("{}{}", is_thread ? "cannot start a thread: " : "", error.what());
    return 1;
  } catch (const std::exception& error) {
    spdlog::error("{}", error.what());
    return 1;
  }
}

CLI::Validator whole_number(int min, int max) {
  return {[=](std::string& text) -> std::string {
            int value = 0;
            const char* end = text.data() + text.size();
            const auto [next, error] = std::from_chars(text.data(), end, value);
            if (error != std::errc() || next != end || value < min || value > max) {
              return fmt::format("'{}', expected a whole number from {} to {}", text, min, max);
            }
            text = std::to_string(value);
            return "";
          },
          ""};
}

CLI::Validator non_negative() {
  return {[](std::string& text) {
            double value = 0;
            const bool is_number = CLI::detail::lexical_cast(text, value) && value >= 0;
            if (is_number && std::isfinite(value)) return std::string();
            return fmt::format("'{}', expected a finite number of at least 0", text);
          },
          ""};
}

CLI::Validator not_empty() {
  return {[](std::string& text) { return text.empty() ? "the value is empty" : ""; }, ""};
}

std::string model_directory(const std::optional<std::string>& name) {
  if (!name) return bert::demo_model();
  std::string directory = bert::find_model(*name);
  if (directory != *name) spdlog::info("note: {} is {}", *name, directory);
  return directory;
}

const Choices<Precision>& precisions() {
  static const Choices<Precision> kAll = {{"auto", Precision::automatic},
                                          {"f32", Precision::f32},
                                          {"bf16", Precision::bf16},
                                          {"int8", Precision::int8}};
  return kAll;
}

void add_precision(CLI::App& app, bert::Precision& precision) {
  add_choice(app, "--precision", precisions(), precision);
}

CLI::Option* add_backend(CLI::App& app, bert::Backend& backend) {
  return add_choice<Backend>(
      app, "--backend",
      {{"auto", Backend::automatic}, {"onednn", Backend::onednn}, {"panels", Backend::panels}},
      backend);
}

}  // namespace bert::tools

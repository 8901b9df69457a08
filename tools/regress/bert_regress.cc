// SPDX-License-Identifier: Apache-2.0
//
// bert-regress: runs the inputs of a reference file and compares every stage that the file holds.
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "models/bert_infer.h"
#include "tools/console/command_line.h"
#include "tools/console/json_text.h"
#include "tools/console/output_file.h"
#include "tools/console/progress_bar.h"
#include "tools/console/signals/stop.h"
#include "tools/regress/baseline.h"
#include "tools/regress/comparison/regression.h"
#include "tools/regress/regress_options.h"
#include "tools/regress/regress_report.h"
#include "tools/report/report_page.h"

namespace bert::tools {
namespace {

using nlohmann::ordered_json;

void declare(CLI::App& app, RegressOptions& options) {
  app.add_option("-m,--model", options.model)->type_name("DIR");
  app.add_option("REFERENCE", options.reference)->required()->type_name("FILE");
  app.add_option("--atol", options.atol)->check(non_negative());
  app.add_option("--rtol", options.rtol)->check(non_negative());
  app.add_option("--mean", options.mean)->check(non_negative());
  add_precision(app, options.load.precision);
  add_backend(app, options.load.backend);
  app.add_option("--adapter", options.load.adapter)->check(not_empty());
  app.add_option("--threads", options.load.threads)->transform(thread_count());
  app.add_flag("--json", options.json);
  app.add_option("--html", options.html)->type_name("FILE")->check(not_empty());
  app.add_option("--junit", options.junit)->type_name("FILE")->check(not_empty());
  app.add_option("--baseline", options.baseline)->type_name("FILE")->check(not_empty());
}

// Standard output holds what would be in a file, instead of the table.
bool has_file_alone(const RegressOptions& options) {
  return options.html == "-" || options.junit == "-";
}

// Each is written as FILE.partial first.
void refuse_one_file(const std::string& html, const std::string& junit) {
  if (html.empty() || junit.empty()) return;
  const auto place = [](const std::string& path) {
    return end_of_links(std::filesystem::absolute(path));
  };
  const std::string a = place(html), b = place(junit);
  if (a == b || a + ".partial" == b || b + ".partial" == a) {
    throw UsageError("--html and --junit name the same file");
  }
}

void check(const RegressOptions& options) {
  if (!options.baseline.empty() && !options.json && options.html.empty()) {
    throw UsageError("--baseline goes with --html or --json");
  }
  for (const std::string& written : {options.html, options.junit}) {
    refuse_files_read({options.reference, options.baseline}, written);
  }
  refuse_one_file(options.html, options.junit);
  if (options.json && has_file_alone(options)) {
    throw UsageError("--json and a page or report on standard output exclude each other");
  }
}

// Nobody may read it any more, but the exit status still counts.
void write(OutputFile& out, const std::string& text) {
  out.append(text);
  try {
    out.close();
  } catch (const ClosedPipe&) {
  }
}

struct Outputs {
  std::optional<OutputFile> html, junit;
};

// Before the work, which would be lost if they could not be written. Until they are closed, what is
// there stays.
void open_outputs(const RegressOptions& options, Outputs& outputs) {
  if (!options.junit.empty()) outputs.junit.emplace(options.junit);
  if (!options.html.empty()) outputs.html.emplace(options.html);
}

void refuse_files_of(const std::string& model, const RegressOptions& options, Outputs& outputs) {
  try {
    refuse_file_of(model, options.junit);
  } catch (const OutputError&) {
    outputs.junit.reset();  // not even the error belongs there
    throw;
  }
  refuse_file_of(model, options.html);
}

ordered_json report_of(const Regression& regression, const std::string& model,
                       const ordered_json& baseline) {
  ordered_json all = regress_json(regression, model);
  if (baseline.is_null()) return all;
  all["baseline"] = baseline;
  all["baseline"].erase("baseline");  // that of the baseline's own run
  return all;
}

// So that what an earlier run wrote does not stand for one that was ended from outside.
void end_if_asked(const Stop& stop) {
  if (stop.signal() == 0) return;
  throw std::runtime_error(
      fmt::format("{}: not everything was compared", strsignal(stop.signal())));
}

// With the texts' length, which an error must not call an option of this program's.
bert::Model load(const RegressOptions& options, const std::string& directory, const Stop& stop) {
  bert::Options load = options.load;
  load.max_length = max_length_of_reference(options.reference);
  load.progress = [&stop, bar = loading_bar()](int loaded, int layers) {
    end_if_asked(stop);
    bar(loaded, layers);
  };
  try {
    return bert::Model::load(directory, load);
  } catch (const bert::Error& error) {
    if (!std::string_view(error.what()).starts_with("max_length ")) throw;
    throw std::runtime_error(fmt::format("{}: __metadata__ {}", options.reference, error.what()));
  }
}

struct Result {
  std::string difference;  // "": none
  std::string junit;       // the file's contents
};

Result run(const RegressOptions& options, const std::string& directory, const Stop& stop,
           Outputs& outputs) {
  ordered_json baseline = nullptr;  // read first: what is wrong with it costs no time
  if (!options.baseline.empty()) baseline = read_baseline(options.baseline);
  const bert::Model model = load(options, directory, stop);
  for (const std::string& note : model.info().notes) spdlog::info("note: {}", note);
  Regression regression(options, model);
  regression.run([&stop] { end_if_asked(stop); });
  ordered_json all;
  if (options.json || outputs.html) all = report_of(regression, directory, baseline);
  if (!has_file_alone(options)) {
    std::string text;
    if (options.json) {
      append_json(text, all);
      text += '\n';
    } else {
      text = regress_table(regression);
    }
    OutputFile out("-");
    write(out, text);
  }
  if (outputs.html) write(*outputs.html, report_page(PageKind::regress, all));
  std::string difference = regression.difference();
  if (!difference.empty()) difference = regression.reference().path() + ": " + difference;
  return {difference, junit_xml(regression, directory)};
}

int regress(const RegressOptions& options) {
  check(options);
  const Stop stop;
  std::string directory = options.model.value_or("");
  Outputs outputs;
  Result result;
  try {
    open_outputs(options, outputs);
    directory = model_directory(options.model);
    refuse_files_of(directory, options, outputs);
    result = run(options, directory, stop, outputs);
  } catch (const std::exception& error) {
    // What an earlier run wrote must not stand for this one.
    const std::string xml = junit_error(directory, error.what());
    try {
      if (outputs.junit) write(*outputs.junit, xml);
    } catch (const OutputError&) {  // the first error is the one to report
    }
    if (stop.signal() == 0) throw;
    outputs.html.reset();
    spdlog::error("{}", error.what());
    stop.end_process();
  }
  if (outputs.junit) write(*outputs.junit, result.junit);
  if (!result.difference.empty()) spdlog::error("{}", result.difference);
  return result.difference.empty() ? 0 : 1;
}

}  // namespace
}  // namespace bert::tools

int main(int argc, char** argv) {
  namespace tools = bert::tools;
  tools::RegressOptions options;
  return tools::run_tool(
      "bert-regress", tools::kRegressManual, argc, argv,
      [&](CLI::App& app) { tools::declare(app, options); },
      [&] { return tools::regress(options); });
}

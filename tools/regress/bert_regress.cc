// SPDX-License-Identifier: Apache-2.0
//
// bert-regress: runs the inputs of a reference file and compares every stage that the file holds.
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "models/bert_infer.h"
#include "tools/console/command_line.h"
#include "tools/console/json_text.h"
#include "tools/console/output_file.h"
#include "tools/console/progress_bar.h"
#include "tools/regress/comparison/regression.h"
#include "tools/regress/regress_options.h"
#include "tools/regress/regress_report.h"
#include "tools/report/environment.h"
#include "tools/report/report_page.h"

namespace bert::tools {
namespace {

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

void check(const RegressOptions& options) {
  if (!options.baseline.empty() && !options.json && options.html.empty()) {
    throw UsageError("--baseline goes with --html or --json");
  }
  for (const std::string& written : {options.html, options.junit}) {
    refuse_files_read({options.reference, options.baseline}, written);
  }
  const auto place = [](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path));
  };
  if (!options.html.empty() && !options.junit.empty() &&
      place(options.html) == place(options.junit)) {
    throw UsageError("--html and --junit name the same file");
  }
  if (options.json && has_file_alone(options)) {
    throw UsageError("--json and a page or report on standard output exclude each other");
  }
}

void print(const std::string& text) {
  OutputFile out("-");
  out.append(text);
  try {
    out.close();
  } catch (const ClosedPipe&) {  // nobody reads the table, but the exit status still counts
  }
}

void write_file(const std::string& path, const std::string& model, const std::string& text) {
  if (path == "-") return print(text);
  refuse_file_of(model, path);
  OutputFile out(path);
  out.append(text);
  out.close();
}

int regress(const RegressOptions& options) {
  check(options);
  nlohmann::ordered_json baseline = nullptr;  // read first: what is wrong with it costs no time
  if (!options.baseline.empty()) baseline = read_report(options.baseline, "bert-regress");
  const std::string directory = model_directory(options.model);
  bert::Options load = options.load;
  load.progress = loading_bar();
  const bert::Model model = bert::Model::load(directory, load);
  for (const std::string& note : model.info().notes) spdlog::info("note: {}", note);
  Regression regression(options, model);
  regression.run();
  if (!options.junit.empty()) {
    write_file(options.junit, directory, junit_xml(regression, directory));
  }
  std::string text = regress_table(regression);
  if (options.json || !options.html.empty()) {
    nlohmann::ordered_json all = regress_json(regression, directory);
    if (!baseline.is_null()) {
      baseline.erase("baseline");  // that of the baseline's own run
      all["baseline"] = baseline;
    }
    if (!options.html.empty()) {
      write_file(options.html, directory, report_page(PageKind::regress, all));
    }
    if (options.json) {
      text.clear();
      append_json(text, all);
      text += '\n';
    }
  }
  if (!has_file_alone(options)) print(text);
  const std::string difference = regression.difference();
  if (!difference.empty()) spdlog::error("{}: {}", regression.reference().path(), difference);
  return difference.empty() ? 0 : 1;
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

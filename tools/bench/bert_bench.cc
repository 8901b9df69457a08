// SPDX-License-Identifier: Apache-2.0
//
// bert-bench: times the forward pass and compares it with the machine's peak, measured alongside.
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "engine/dense/product.h"
#include "models/bert_infer.h"
#include "tools/bench/bench_options.h"
#include "tools/bench/bench_report.h"
#include "tools/bench/random_model.h"
#include "tools/bench/timing.h"
#include "tools/console/command_line.h"
#include "tools/console/output_file.h"
#include "tools/console/progress_bar.h"
#include "tools/report/environment.h"
#include "tools/report/report_page.h"

namespace bert::tools {
namespace {

bool has_onednn_product(const std::string& precision) {
  using enum engine::Precision;
  return std::ranges::any_of(std::array{f32, bf16, int8}, [&](engine::Precision each) {
    return engine::name_of(each) == precision &&
           (engine::micro_kernel_product(each) || engine::matmul_product(each));
  });
}

// The model, or with --compare the same with each backend that multiplies in its precision, panels
// first.
std::vector<bert::Model> load_models(const std::string& directory, const BenchOptions& options,
                                     const bert::Options& wanted) {
  bert::Options load = wanted;
  load.progress = loading_bar();
  if (!options.compare) return {bert::Model::load(directory, load)};
  std::vector<bert::Model> models;
  load.backend = Backend::panels;
  models.push_back(bert::Model::load(directory, load));
  if (has_onednn_product(models.front().info().precision)) {
    load.backend = Backend::onednn;
    models.push_back(bert::Model::load(directory, load));
  }
  return models;
}

class Bench {
 public:
  explicit Bench(const BenchOptions& options)
      : options_(options),
        out_("-"),
        bar_("timing",
             static_cast<double>(options.shapes.size() * options.precisions.size() *
                                 options.threads.size()),
             "shapes") {
    if (has_page_alone_ && options.json) {
      throw UsageError("--html - and --json exclude each other on standard output");
    }
    for (const std::string& shape : options.shapes) lengths_.push_back(parse_lengths(shape));
    if (!options.baseline.empty()) baseline_.emplace(options.baseline);
    if (options.shape) random_.emplace(*options.shape);
    directory_ = options.shape ? random_->directory() : model_directory(options.model);
    name_ = options.shape ? "--shape " + *options.shape : directory_;
    if (!options.html.empty()) {
      refuse_file_of(directory_, options.html);
      refuse_files_read({options.baseline}, options.html);
      // Refuses now what could not be written after the timing. A pipe's reader would take the
      // closing for the end.
      std::error_code ignored;
      const bool is_pipe = std::filesystem::is_fifo(options.html, ignored);
      if (!has_page_alone_ && !is_pipe) const OutputFile attempt(options.html);
    }
  }

  void run() {
    for (const Precision precision : options_.precisions) {
      for (const int threads : options_.threads) {
        bert::Options load = options_.load;
        load.precision = precision;
        load.threads = threads;
        time(load_models(directory_, options_, load));
      }
    }
    bar_.clear();
    random_.reset();  // a signal ends the wait for a pipe's reader at once
    if (!options_.html.empty()) write_page();
    out_.close();
  }

 private:
  void write_page() {
    const std::string page = report_page(PageKind::bench, {{"model", name_},
                                                           {"task", options_.task},
                                                           {"environment", environment_},
                                                           {"has_baseline", baseline_.has_value()},
                                                           {"rows", rows_}});
    if (has_page_alone_) return out_.append(page);
    OutputFile file(options_.html);
    file.append(page);
    file.close();
  }

  void check(const bert::Info& info) const {
    if (options_.task == "logits" && !info.has_logits) {
      throw std::runtime_error(
          fmt::format("{}: {} has no classification head, which --task logits needs", name_,
                      info.architecture));
    }
    for (size_t i = 0; i < lengths_.size(); ++i) {
      const int longest = std::ranges::max(lengths_[i]);
      if (longest <= info.max_length) continue;
      throw std::runtime_error(fmt::format("shape '{}': {} tokens, but {} takes at most {}",
                                           options_.shapes[i], longest, name_, info.max_length));
    }
  }

  void time(const std::vector<bert::Model>& models) {
    const bert::Info& info = models.front().info();
    check(info);
    if (options_.compare && models.size() == 1) {
      note(fmt::format("oneDNN {} has no fast {} product for this processor: panels alone",
                       engine::onednn_version(), info.precision));
    }
    if (options_.profile) {
      for (const std::string& each : info.notes) note(each);
    }
    if (!options_.json && !std::exchange(has_header_, true)) print(timing_header());
    for (size_t i = 0; i < lengths_.size(); ++i) {
      const std::vector<Timing> timings = time_shape(options_, models, lengths_[i], bar_);
      bar_.clear();  // the rows may go to the same terminal
      for (const Timing& timing : timings) {
        report({options_.shapes[i], lengths_[i].size(), timing.work, timing, info});
      }
      if (timings.size() == 2 && !options_.json) {
        print(fmt::format("    onednn / panels: {:.2f}\n",
                          timings[0].median() / timings[1].median()));
      }
    }
  }

  void note(const std::string& text) {
    if (notes_.insert(text).second) spdlog::info("note: {}", text);
  }

  void print(const std::string& text) {
    if (has_page_alone_) return;
    out_.append(text);
    try {
      out_.flush();
    } catch (const ClosedPipe&) {
      if (options_.html.empty()) throw;  // nobody reads the table, but somebody may read the page
    }
  }

  void report(TimedShape timed) {
    nlohmann::ordered_json row = timing_json(timed, options_.task, environment_);
    if (baseline_) {
      if (const std::string found = baseline_->compare(row); !found.empty()) note(found);
    }
    if (options_.json) {
      print(row.dump() + "\n");
    } else {
      // Unless it is asked for, the profile is for the page alone.
      if (!options_.profile) timed.timing.bandwidth = 0;
      print(timing_text(timed) + BenchBaseline::text(row));
    }
    rows_.push_back(std::move(row));
  }

  const BenchOptions& options_;
  std::vector<std::vector<int>> lengths_;  // of each shape
  std::optional<BenchBaseline> baseline_;
  std::optional<RandomModel> random_;
  std::string directory_, name_;  // the latter for messages
  const nlohmann::ordered_json environment_ = describe_environment();
  OutputFile out_;
  ProgressBar bar_;
  const bool has_page_alone_ = options_.html == "-";  // on standard output
  bool has_header_ = false;
  std::set<std::string> notes_;  // each of which is given once
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
};

}  // namespace
}  // namespace bert::tools

int main(int argc, char** argv) {
  namespace tools = bert::tools;
  tools::BenchOptions options;
  return tools::run_tool(
      "bert-bench", tools::kBenchManual, argc, argv,
      [&](CLI::App& app) { tools::declare(app, options); },
      [&] {
        tools::Bench(options).run();
        return 0;
      });
}

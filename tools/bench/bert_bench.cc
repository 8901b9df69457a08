// SPDX-License-Identifier: Apache-2.0
//
// bert-bench: times the forward pass and compares it with the machine's peak, measured alongside.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <climits>
#include <filesystem>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "engine/peak.h"
#include "engine/profile.h"
#include "models/bert_infer.h"
#include "models/inspection.h"
#include "tools/bench/random_model.h"
#include "tools/console/command_line.h"
#include "tools/console/output_file.h"

namespace bert::tools {
namespace {

constexpr const char* kManual = R"(bert-bench: time a model's forward pass

  bert-bench [-m DIR | --shape NAME] [OPTIONS] SHAPE...

A SHAPE is BxS, a batch of B inputs of S tokens, or lengths:17,31,128, a batch of these lengths.

  -m, --model DIR      default: the demo model
      --shape NAME     random weights instead: base, large, small, mini, tiny, or L,H,A,I (layers,
                       hidden size, heads, intermediate size)
      --task TASK      hidden (default): the last hidden state of every token; logits: the head's
                       scores, which need only one row per input of the last layer
      --precision P    auto (default), f32, bf16 or int8
      --backend B      what multiplies: auto (default), onednn or panels
      --compare        both backends side by side, run in turns; over: how many times as fast as
                       panels onednn is
      --threads N      default: as many as the process may use
      --runs N         the least number of timed runs of each shape (default 7); runs continue until
                       half a second has passed
      --profile        show where the time of an average run goes, and the floor
      --json           one JSON object per line, for programs
  -h, --help           this text
      --version        versions of this and of oneDNN, backend, instruction set

gflops counts the multiplications and additions of the matrix products and of attention.
peak_fraction relates it to what the machine can do on the same threads, timed just before and after:
a oneDNN matmul of 1024 x 1024 x 1024 in the same precision (int8: u8 by s8), or in f32 multiply-adds
in registers if they are faster. --profile and --json show both. The floor is the larger of two times: the
operations at that peak, and reading the weights at the threads' memory bandwidth.

Exit status: 0 success, 1 failure, 2 wrong usage.
)";

struct BenchOptions {
  std::optional<std::string> model, shape;  // neither: the demo model
  std::string task = "hidden";
  std::vector<std::string> shapes;
  bert::Options load;
  int runs = 7;
  bool profile = false, json = false, compare = false;

  BenchOptions() { load.workers = 1; }  // a shape is one batch
};

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

int positive(std::string_view text, const std::string& shape) {
  constexpr int kMax = 1000000;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value > 0 && value <= kMax) {
    return value;
  }
  throw UsageError(fmt::format(
      "shape '{}': found '{}', expected a number from 1 to {}, as in 8x128 or lengths:17,31", shape,
      text, kMax));
}

// Lengths of the inputs of a batch.
std::vector<int> parse_lengths(const std::string& shape) {
  constexpr std::string_view kLengths = "lengths:";
  std::string_view rest = shape;
  if (!rest.starts_with(kLengths)) {
    const size_t x = rest.find('x');
    const auto length = x == std::string_view::npos ? std::string_view() : rest.substr(x + 1);
    return std::vector<int>(positive(rest.substr(0, x), shape), positive(length, shape));
  }
  rest.remove_prefix(kLengths.size());
  std::vector<int> lengths;
  for (size_t comma = 0; comma != std::string_view::npos;) {
    comma = rest.find(',');
    lengths.push_back(positive(rest.substr(0, comma), shape));
    if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
  }
  return lengths;
}

// Ids spread over the vocabulary; the second half of each input is its second segment.
std::vector<bert::Encoding> make_inputs(const std::vector<int>& lengths, int vocabulary) {
  std::vector<bert::Encoding> inputs;
  for (const int length : lengths) {
    bert::Encoding& input = inputs.emplace_back();
    for (int s = 0; s < length; ++s) {
      const int64_t i = std::ssize(inputs) * 4099 + s;
      input.ids.push_back(static_cast<int32_t>(i * 7919 % vocabulary));
      input.type_ids.push_back(2 * s > length ? 1 : 0);
    }
  }
  return inputs;
}

struct Work {
  int64_t tokens = 0;
  double flops = 0;
  double bytes = 0;  // of the weights read
};

// For logits, the last layer computes only the first token of each input once it has the keys and
// values.
Work work_of(const std::vector<int>& lengths, const bert::Info& info, bool logits) {
  const double h = info.hidden, i = info.intermediate, layers = info.layers;
  const double qkv = 3 * h * h, rest = h * h + 2 * h * i;
  Work work;
  for (const int length : lengths) {
    const double tokens = length, last = logits ? 1 : tokens;
    work.tokens += length;
    work.flops += 2 * layers * qkv * tokens + 2 * rest * ((layers - 1) * tokens + last);
    work.flops += 4 * h * tokens * ((layers - 1) * tokens + last);  // attention
  }
  const double weight = info.precision == "int8" ? 1 : info.precision == "bf16" ? 2 : 4;
  work.bytes = weight * layers * (qkv + rest);
  return work;
}

struct Timing {
  std::string backend, product;
  double median = 0, min = 0, bandwidth = 0;
  double mean = 0;  // which the profile's parts and its rest add up to
  double onednn_peak = 0, multiply_add_peak = 0;  // the latter in f32 only
  double peak() const { return std::max(onednn_peak, multiply_add_peak); }
  engine::Profile profile{};  // of an average run
};

void measure_peak(models::Pass& pass, Timing& timing) {
  const engine::Precision precision = pass.precision();
  engine::Team team(pass.scheduler());
  timing.onednn_peak = std::max(timing.onednn_peak, engine::matmul_peak(team, precision));
  if (precision != engine::Precision::f32) return;
  timing.multiply_add_peak = std::max(timing.multiply_add_peak, engine::multiply_add_peak(team));
}

// Of all models, which run in turns.
std::vector<Timing> time_shape(const BenchOptions& options, const std::vector<bert::Model>& models,
                               const std::vector<int>& lengths) {
  std::vector<models::Pass> passes;
  std::vector<Timing> timings;
  std::vector<std::vector<double>> seconds(models.size());
  const auto once = [&](models::Pass& pass) {
    options.task == "logits" ? pass.logits() : pass.hidden();
  };
  for (const bert::Model& model : models) {
    models::Pass& pass = passes.emplace_back(model, make_inputs(lengths, model.info().vocabulary));
    Timing& timing = timings.emplace_back();
    timing.backend = model.info().backend;
    timing.product = pass.product();
    measure_peak(pass, timing);
    if (options.profile) {
      engine::Team team(pass.scheduler());
      timing.bandwidth = engine::read_bandwidth(team);
    }
    for (int i = 0; i < 2; ++i) once(pass);
  }
  for (const auto begin = Clock::now();
       std::ssize(seconds[0]) < options.runs || seconds_since(begin) < 0.5;) {
    for (size_t i = 0; i < passes.size(); ++i) {
      engine::profile = options.profile ? &timings[i].profile : nullptr;
      const auto start = Clock::now();
      once(passes[i]);
      seconds[i].push_back(seconds_since(start));
    }
  }
  engine::profile = nullptr;
  for (size_t i = 0; i < passes.size(); ++i) {
    measure_peak(passes[i], timings[i]);
    const auto runs = static_cast<double>(seconds[i].size());
    for (double& part : timings[i].profile) part /= runs;
    timings[i].mean = std::accumulate(seconds[i].begin(), seconds[i].end(), 0.0) / runs;
    std::ranges::sort(seconds[i]);
    timings[i].median = seconds[i][seconds[i].size() / 2];
    timings[i].min = seconds[i][0];
  }
  return timings;
}

void print_json(OutputFile& out, const std::string& shape, size_t batch, const Work& work,
                const Timing& timing, const bert::Info& info) {
  nlohmann::ordered_json row = {{"shape", shape},
                                {"precision", info.precision},
                                {"backend", timing.backend},
                                {"product", timing.product},
                                {"threads", info.threads},
                                {"batch", batch},
                                {"tokens", work.tokens},
                                {"median_ms", 1e3 * timing.median},
                                {"min_ms", 1e3 * timing.min},
                                {"tokens_per_s", static_cast<double>(work.tokens) / timing.median},
                                {"gflops", work.flops / timing.median / 1e9},
                                {"peak_fraction", work.flops / timing.median / timing.peak()},
                                {"onednn_peak_gflops", timing.onednn_peak / 1e9}};
  if (timing.multiply_add_peak > 0) {
    row["multiply_add_peak_gflops"] = timing.multiply_add_peak / 1e9;
  }
  if (timing.bandwidth > 0) {
    double rest = timing.mean;
    for (size_t i = 0; i < timing.profile.size(); ++i) {
      row["profile_ms"][engine::kStepNames[i]] = 1e3 * timing.profile[i];
      rest -= timing.profile[i];
    }
    row["profile_ms"]["rest"] = 1e3 * rest;
    row["floor_ms"] = {{"compute", 1e3 * work.flops / timing.peak()},
                       {"onednn_peak_gflops", timing.onednn_peak / 1e9},
                       {"weights", 1e3 * work.bytes / timing.bandwidth}};
  }
  out.append(row.dump() + "\n");
}

void print_row(OutputFile& out, const std::string& shape, size_t batch, const Work& work,
               const Timing& timing, const bert::Info& info) {
  const std::string name = shape.size() > 16 ? shape.substr(0, 13) + "..." : shape;
  out.append(fmt::format(
      "{:<16} {:>4} {:>7} {:>7} {:>6} {:>7} {:>10.3f} {:>10.3f} {:>9.0f} {:>8.1f} "
      "{:>6.3f}\n",
      name, info.precision, timing.backend, info.threads, batch, work.tokens, 1e3 * timing.median,
      1e3 * timing.min, static_cast<double>(work.tokens) / timing.median,
      work.flops / timing.median / 1e9, work.flops / timing.median / timing.peak()));
  if (timing.bandwidth == 0) return;
  double rest = 1;
  for (size_t i = 0; i < timing.profile.size(); ++i) {
    const double share = timing.profile[i] / timing.mean;
    out.append(fmt::format("    {:<10} {:>10.3f} ms {:>6.1f} %\n", engine::kStepNames[i],
                           1e3 * timing.profile[i], 100 * share));
    rest -= share;
  }
  out.append(fmt::format("    {:<10} {:>10.3f} ms {:>6.1f} %\n", "rest", 1e3 * rest * timing.mean,
                         100 * rest));
  out.append(fmt::format("    peak: {:.1f} GFLOP/s by oneDNN's matmul", timing.onednn_peak / 1e9));
  if (timing.multiply_add_peak > 0) {
    out.append(
        fmt::format(", {:.1f} by multiply-adds in registers", timing.multiply_add_peak / 1e9));
  }
  out.append(
      fmt::format("\n    floor: {:.3f} ms to compute at {:.1f} GFLOP/s, {:.3f} ms to read the "
                  "weights at {:.1f} "
                  "GB/s\n",
                  1e3 * work.flops / timing.peak(), timing.peak() / 1e9,
                  1e3 * work.bytes / timing.bandwidth, timing.bandwidth / 1e9));
}

// The model, or with --compare the same with each backend, panels first.
std::vector<bert::Model> load_models(const std::string& directory, const BenchOptions& options) {
  if (!options.compare) return {bert::Model::load(directory, options.load)};
  std::vector<bert::Model> models;
  for (const Backend backend : {Backend::panels, Backend::onednn}) {
    bert::Options load = options.load;
    load.backend = backend;
    models.push_back(bert::Model::load(directory, load));
  }
  return models;
}

void run(const BenchOptions& options) {
  std::vector<std::vector<int>> shapes;
  for (const std::string& shape : options.shapes) shapes.push_back(parse_lengths(shape));
  std::optional<RandomModel> random;
  std::string directory =
      options.shape ? random.emplace(*options.shape).directory() : model_directory(options.model);
  const std::vector<bert::Model> models = load_models(directory, options);
  random.reset();  // the weights stay mapped
  if (options.shape) directory = "--shape " + *options.shape;
  const bert::Info& info = models.front().info();
  if (options.task == "logits" && !info.has_logits) {
    throw std::runtime_error(
        fmt::format("{}: {} has no classification head, which --task logits needs", directory,
                    info.architecture));
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    const int longest = std::ranges::max(shapes[i]);
    if (longest <= info.max_length) continue;
    throw std::runtime_error(fmt::format("shape '{}': {} tokens, but {} takes at most {}",
                                         options.shapes[i], longest, directory, info.max_length));
  }
  if (options.profile) {
    for (const std::string& note : info.notes) spdlog::info("note: {}", note);
  }
  OutputFile out("-");
  if (!options.json) {
    out.append(fmt::format("{:<16} {:>4} {:>7} {:>7} {:>6} {:>7} {:>10} {:>10} {:>9} {:>8} {:>6}\n",
                           "shape", "type", "backend", "threads", "batch", "tokens", "median ms",
                           "min ms", "tokens/s", "GFLOP/s", "peak"));
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::vector<Timing> timings = time_shape(options, models, shapes[i]);
    const Work work = work_of(shapes[i], info, options.task == "logits");
    for (const Timing& timing : timings) {
      (options.json ? print_json : print_row)(out, options.shapes[i], shapes[i].size(), work,
                                              timing, info);
    }
    if (options.compare && !options.json) {
      out.append(fmt::format("    over: {:.2f}\n", timings[0].median / timings[1].median));
    }
    out.flush();
  }
  out.close();
}

void declare(CLI::App& app, BenchOptions& options) {
  auto* model = app.add_option("-m,--model", options.model)->type_name("DIR");
  app.add_option("--shape", options.shape)->excludes(model);
  app.add_option("--task", options.task)->check(CLI::IsMember({"hidden", "logits"}));
  add_precision(app, options.load.precision);
  auto* backend = add_backend(app, options.load.backend);
  app.add_flag("--compare", options.compare)->excludes(backend);
  app.add_option("--threads", options.load.threads)->transform(thread_count());
  app.add_option("--runs", options.runs)->transform(whole_number(1, INT_MAX));
  app.add_flag("--profile", options.profile);
  app.add_flag("--json", options.json);
  app.add_option("SHAPE", options.shapes)->required();
}

}  // namespace
}  // namespace bert::tools

int main(int argc, char** argv) {
  namespace tools = bert::tools;
  tools::BenchOptions options;
  return tools::run_tool(
      "bert-bench", tools::kManual, argc, argv,
      [&](CLI::App& app) { tools::declare(app, options); },
      [&] {
        tools::run(options);
        return 0;
      });
}

// SPDX-License-Identifier: Apache-2.0
//
// bert-bench: times the forward pass and compares it with the machine's peak, measured alongside.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <climits>
#include <filesystem>
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
      --threads N      default: as many as the process may use
      --runs N         the least number of timed runs of each shape (default 7); runs continue until
                       half a second has passed
      --profile        show where the time goes, and the floor
      --json           one JSON object per line, for programs
  -h, --help           this text
      --version        the version

gflops counts the multiplications and additions of the matrix products and of attention.
peak_fraction relates it to a oneDNN matmul of 1024 x 1024 x 1024 in the same precision (int8: u8 by
s8) on the same threads, timed just before and after. The floor is the larger of two times: the
operations at that peak, and reading the weights at the threads' memory bandwidth.

Exit status: 0 success, 1 failure, 2 wrong usage.
)";

struct BenchOptions {
  std::optional<std::string> model, shape;  // neither: the demo model
  std::string task = "hidden";
  std::vector<std::string> shapes;
  bert::Options load;
  int runs = 7;
  bool profile = false, json = false;

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
  double median = 0, min = 0, peak = 0, bandwidth = 0;
  engine::Profile profile{};  // of an average run
};

Timing time_shape(const BenchOptions& options, const bert::Model& model,
                  const std::vector<int>& lengths) {
  models::Pass pass(model, make_inputs(lengths, model.info().vocabulary));
  const auto once = [&] { options.task == "logits" ? pass.logits() : pass.hidden(); };
  Timing timing;
  timing.peak = engine::matmul_peak(pass.pool(), pass.precision());
  if (options.profile) timing.bandwidth = engine::read_bandwidth(pass.pool());
  for (int i = 0; i < 2; ++i) once();
  std::vector<double> seconds;
  engine::profile = options.profile ? &timing.profile : nullptr;
  for (const auto begin = Clock::now();
       std::ssize(seconds) < options.runs || seconds_since(begin) < 0.5;) {
    const auto start = Clock::now();
    once();
    seconds.push_back(seconds_since(start));
  }
  engine::profile = nullptr;
  timing.peak = std::max(timing.peak, engine::matmul_peak(pass.pool(), pass.precision()));
  for (double& part : timing.profile) part /= static_cast<double>(seconds.size());
  std::ranges::sort(seconds);
  timing.median = seconds[seconds.size() / 2];
  timing.min = seconds[0];
  return timing;
}

void print_json(OutputFile& out, const std::string& shape, size_t batch, const Work& work,
                const Timing& timing, const bert::Info& info) {
  nlohmann::ordered_json row = {{"shape", shape},
                                {"precision", info.precision},
                                {"threads", info.threads},
                                {"batch", batch},
                                {"tokens", work.tokens},
                                {"median_ms", 1e3 * timing.median},
                                {"min_ms", 1e3 * timing.min},
                                {"tokens_per_s", static_cast<double>(work.tokens) / timing.median},
                                {"gflops", work.flops / timing.median / 1e9},
                                {"peak_fraction", work.flops / timing.median / timing.peak}};
  if (timing.bandwidth > 0) {
    double rest = timing.median;
    for (size_t i = 0; i < timing.profile.size(); ++i) {
      row["profile_ms"][engine::kStepNames[i]] = 1e3 * timing.profile[i];
      rest -= timing.profile[i];
    }
    row["profile_ms"]["rest"] = 1e3 * rest;
    row["floor_ms"] = {{"compute", 1e3 * work.flops / timing.peak},
                       {"weights", 1e3 * work.bytes / timing.bandwidth}};
  }
  out.append(row.dump() + "\n");
}

void print_row(OutputFile& out, const std::string& shape, size_t batch, const Work& work,
               const Timing& timing, const bert::Info& info) {
  const std::string name = shape.size() > 16 ? shape.substr(0, 13) + "..." : shape;
  out.append(
      fmt::format("{:<16} {:>4} {:>7} {:>6} {:>7} {:>10.3f} {:>10.3f} {:>9.0f} {:>8.1f} {:>6.3f}\n",
                  name, info.precision, info.threads, batch, work.tokens, 1e3 * timing.median,
                  1e3 * timing.min, static_cast<double>(work.tokens) / timing.median,
                  work.flops / timing.median / 1e9, work.flops / timing.median / timing.peak));
  if (timing.bandwidth == 0) return;
  double rest = 1;
  for (size_t i = 0; i < timing.profile.size(); ++i) {
    const double share = timing.profile[i] / timing.median;
    out.append(fmt::format("    {:<10} {:>10.3f} ms {:>6.1f} %\n", engine::kStepNames[i],
                           1e3 * timing.profile[i], 100 * share));
    rest -= share;
  }
  out.append(fmt::format("    {:<10} {:>10.3f} ms {:>6.1f} %\n", "rest", 1e3 * rest * timing.median,
                         100 * rest));
  out.append(fmt::format(
      "    floor: {:.3f} ms to compute at {:.1f} GFLOP/s, {:.3f} ms to read the weights at {:.1f} "
      "GB/s\n",
      1e3 * work.flops / timing.peak, timing.peak / 1e9, 1e3 * work.bytes / timing.bandwidth,
      timing.bandwidth / 1e9));
}

void run(const BenchOptions& options) {
  std::vector<std::vector<int>> shapes;
  for (const std::string& shape : options.shapes) shapes.push_back(parse_lengths(shape));
  std::optional<RandomModel> random;
  const std::string directory = options.shape   ? random.emplace(*options.shape).directory()
                                : options.model ? *options.model
                                                : bert::demo_model();
  const bert::Model model = bert::Model::load(directory, options.load);
  random.reset();  // the weights stay mapped, and no files are left behind if this is killed
  const bert::Info& info = model.info();
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
    out.append(fmt::format("{:<16} {:>4} {:>7} {:>6} {:>7} {:>10} {:>10} {:>9} {:>8} {:>6}\n",
                           "shape", "type", "threads", "batch", "tokens", "median ms", "min ms",
                           "tokens/s", "GFLOP/s", "peak"));
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Timing timing = time_shape(options, model, shapes[i]);
    (options.json ? print_json : print_row)(out, options.shapes[i], shapes[i].size(),
                                            work_of(shapes[i], info, options.task == "logits"),
                                            timing, info);
    out.flush();
  }
  out.close();
}

void declare(CLI::App& app, BenchOptions& options) {
  auto* model = app.add_option("-m,--model", options.model);
  app.add_option("--shape", options.shape)->excludes(model);
  app.add_option("--task", options.task)->check(CLI::IsMember({"hidden", "logits"}));
  add_precision(app, options.load.precision);
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

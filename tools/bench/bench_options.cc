// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_options.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/console/command_line.h"

namespace bert::tools {

const char* const kBenchManual = R"(bert-bench: time a model's forward pass

  bert-bench [-m DIR | --shape NAME] [OPTIONS] SHAPE...

A SHAPE is BxS, a batch of B inputs of S tokens, or lengths:17,31,128, a batch of these lengths.

  -m, --model DIR      default: the demo model
      --shape NAME     random weights instead: base, large, small, mini, tiny, or L,H,A,I (layers,
                       hidden size, heads, intermediate size)
      --task TASK      hidden (default): the last hidden state of every token; logits: the head's
                       scores, which need only one row per input of the last layer
      --precision P,.. auto (default), f32, bf16 or int8, or several, one after the other
      --backend B      matrix products by auto (default), onednn or panels
      --compare        both backends side by side, run in turns; onednn / panels: oneDNN's speed
                       relative to panels; panels alone where oneDNN has no fast product
      --threads N,..   default: as many as the process may use
      --runs N         the least number of timed runs of each shape (default 7); runs continue until
                       half a second has passed
      --profile        show where the time of an average run goes, and the floor
      --json           one JSON object per line, for programs
      --html FILE      a page with all of this: latency, throughput, distribution, profile, floor;
                       - is standard output, instead of the table
      --baseline OLD   lines that --json wrote before: by how much the median changed, with its
                       95 % confidence interval; the last line of the same shape, model and settings
                       counts
  -h, --help           this text
      --version        versions of this and of oneDNN, backend, instruction set

gflops counts the multiplications and additions of the matrix products and of attention (of a
sliding window, only the keys in it).
peak_fraction relates it to what the machine can do on the same threads, timed before and after:
a oneDNN matmul of 1024 x 1024 x 1024 in the same precision (int8: u8 by s8), or multiply-adds in
registers if they are faster, which are measured in f32, and with AMX on its tiles in each precision
(f32: a sixth of bf16's, or a third if the weights are bf16). --profile and --json show both. In
int8 without VNNI, the panels need fewer instructions than that matmul and come out above 1. The
floor is the larger of two times: the operations at that peak, and reading the weights at the
threads' memory bandwidth.

Intervals are 95 % confidence intervals, from the order of the times of at least 6 runs; that of a
change joins those of the two medians. They tell the spread within a run, not how the machine
changes from one hour to the next.

Exit status: 0 success, 1 failure, 2 wrong usage.
)";

namespace {

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

// Splits "f32,int8" and reads each part, which may stand there once.
template <typename Value>
std::vector<Value> parse_list(const char* option, const std::string& text,
                              const std::function<std::optional<Value>(const std::string&)>& read,
                              std::string_view expected) {
  std::vector<Value> values;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::optional<Value> value = read(part);
    if (!value) throw UsageError(fmt::format("{}: '{}', expected {}", option, part, expected));
    if (std::ranges::find(values, *value) != values.end()) {
      throw UsageError(fmt::format("{}: {} is given twice", option, part));
    }
    values.push_back(*value);
    begin = end + 1;
  }
  return values;
}

std::optional<Precision> precision_named(const std::string& name) {
  for (const auto& [known, precision] : precisions()) {
    if (name == known) return precision;
  }
  return std::nullopt;
}

constexpr int kMostThreads = 1024;

std::optional<int> threads_in(const std::string& text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || next != end || value < 1 || value > kMostThreads) return std::nullopt;
  return value;
}

}  // namespace

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

void declare(CLI::App& app, BenchOptions& options) {
  auto* model = app.add_option("-m,--model", options.model)->type_name("DIR");
  app.add_option("--shape", options.shape)->excludes(model);
  app.add_option("--task", options.task)->check(CLI::IsMember({"hidden", "logits"}));
  app.add_option("--precision")->each([&](const std::string& text) {
    options.precisions = parse_list<Precision>("--precision", text, precision_named,
                                               "auto, f32, bf16 or int8, or several with commas");
  });
  auto* backend = add_backend(app, options.load.backend);
  app.add_flag("--compare", options.compare)->excludes(backend);
  app.add_option("--threads")->each([&](const std::string& text) {
    options.threads = parse_list<int>(
        "--threads", text, threads_in,
        fmt::format("a whole number from 1 to {}, or several with commas", kMostThreads));
  });
  app.add_option("--runs", options.runs)->transform(whole_number(1, INT_MAX));
  app.add_flag("--profile", options.profile);
  app.add_flag("--json", options.json);
  app.add_option("--html", options.html)->type_name("FILE")->check(not_empty());
  app.add_option("--baseline", options.baseline)->type_name("FILE")->check(not_empty());
  app.add_option("SHAPE", options.shapes)->required();
}

}  // namespace bert::tools

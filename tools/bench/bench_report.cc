// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_report.h"

#include <cmath>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

#include "tools/report/environment.h"

namespace bert::tools {
namespace {

using nlohmann::ordered_json;

ordered_json milliseconds(double seconds) { return rounded_number(1e3 * seconds); }

ordered_json profile_json(const Timing& timing) {
  ordered_json profile;
  double rest = timing.mean;
  for (size_t i = 0; i < timing.profile.size(); ++i) {
    profile[engine::kStepNames[i]] = 1e3 * timing.profile[i];
    rest -= timing.profile[i];
  }
  profile["rest"] = 1e3 * rest;
  return profile;
}

// How far the logarithm of a median may lie from that of another, from those of each.
double joined(double a, double b) { return std::hypot(std::log(a), std::log(b)); }

}  // namespace

std::string timing_header() {
  return fmt::format("{:<16} {:>4} {:>7} {:>7} {:>6} {:>7} {:>10} {:>10} {:>9} {:>8} {:>6}\n",
                     "shape", "type", "backend", "threads", "batch", "tokens", "median ms",
                     "min ms", "tokens/s", "GFLOP/s", "peak");
}

std::string timing_text(const TimedShape& timed) {
  const auto& [shape, batch, work, timing, info] = timed;
  std::string out;
  const std::string name = shape.size() > 16 ? shape.substr(0, 13) + "..." : shape;
  out += fmt::format(
      "{:<16} {:>4} {:>7} {:>7} {:>6} {:>7} {:>10.3f} {:>10.3f} {:>9.0f} {:>8.1f} "
      "{:>6.3f}\n",
      name, info.precision, timing.backend, info.threads, batch, work.tokens, 1e3 * timing.median(),
      1e3 * timing.min(), static_cast<double>(work.tokens) / timing.median(),
      work.flops / timing.median() / 1e9, work.flops / timing.median() / timing.peak());
  if (timing.bandwidth == 0) return out;
  double rest = 1;
  for (size_t i = 0; i < timing.profile.size(); ++i) {
    const double share = timing.profile[i] / timing.mean;
    out += fmt::format("    {:<10} {:>10.3f} ms {:>6.1f} %\n", engine::kStepNames[i],
                       1e3 * timing.profile[i], 100 * share);
    rest -= share;
  }
  out += fmt::format("    {:<10} {:>10.3f} ms {:>6.1f} %\n", "rest", 1e3 * rest * timing.mean,
                     100 * rest);
  out += fmt::format("    peak: {:.1f} GFLOP/s by oneDNN's matmul", timing.onednn_peak / 1e9);
  if (timing.multiply_add_peak > 0) {
    out += fmt::format(", {:.1f} by multiply-adds in registers", timing.multiply_add_peak / 1e9);
  }
  out += fmt::format(
      "\n    floor: {:.3f} ms to compute at {:.1f} GFLOP/s, {:.3f} ms to read the "
      "weights at {:.1f} GB/s\n",
      1e3 * work.flops / timing.peak(), timing.peak() / 1e9, 1e3 * work.bytes / timing.bandwidth,
      timing.bandwidth / 1e9);
  return out;
}

ordered_json timing_json(const TimedShape& timed, const std::string& task) {
  const auto& [shape, batch, work, timing, info] = timed;
  const double median = timing.median(), flops_per_s = work.flops / median;
  ordered_json quantiles = ordered_json::array();
  constexpr int kSteps = 40;
  for (int i = 0; i <= kSteps; ++i) {
    quantiles.push_back(milliseconds(timing.quantile(static_cast<double>(i) / kSteps)));
  }
  const auto [low, high] = timing.median_interval();
  ordered_json row = {{"shape", shape},
                      {"task", task},
                      {"precision", info.precision},
                      {"backend", timing.backend},
                      {"product", timing.product},
                      {"threads", info.threads},
                      {"batch", batch},
                      {"tokens", work.tokens},
                      {"median_ms", 1e3 * median},
                      {"min_ms", 1e3 * timing.min()},
                      {"tokens_per_s", static_cast<double>(work.tokens) / median},
                      {"gflops", flops_per_s / 1e9},
                      {"peak_fraction", flops_per_s / timing.peak()},
                      {"onednn_peak_gflops", timing.onednn_peak / 1e9},
                      {"runs", timing.seconds.size()},
                      {"median_interval_ms", {milliseconds(low), milliseconds(high)}},
                      {"quantiles_ms", quantiles}};
  if (timing.multiply_add_peak > 0) {
    row["multiply_add_peak_gflops"] = timing.multiply_add_peak / 1e9;
  }
  if (timing.bandwidth > 0) {
    row["profile_ms"] = profile_json(timing);
    row["floor_ms"] = {{"compute", 1e3 * work.flops / timing.peak()},
                       {"onednn_peak_gflops", timing.onednn_peak / 1e9},
                       {"weights", 1e3 * work.bytes / timing.bandwidth}};
  }
  return row;
}

BenchBaseline::BenchBaseline(const std::string& path) {
  std::istringstream file(read_whole(path));
  for (std::string line; std::getline(file, line);) {
    ordered_json row = ordered_json::parse(line, nullptr, false);
    for (const char* key :
         {"shape", "task", "precision", "backend", "threads", "median_ms", "median_interval_ms"}) {
      if (row.is_object() && row.contains(key)) continue;
      throw std::runtime_error(fmt::format("{}:{}: has no {}, which bert-bench --json writes", path,
                                           rows_.size() + 1, key));
    }
    rows_.push_back(std::move(row));
  }
  if (rows_.empty()) throw std::runtime_error(path + ": is empty, expected what --json wrote");
}

void BenchBaseline::compare(ordered_json& row) const {
  for (const ordered_json& old : rows_) {
    bool is_same = true;
    for (const char* key : {"shape", "task", "precision", "backend", "threads"}) {
      is_same = is_same && old[key] == row[key];
    }
    if (!is_same) continue;
    const double before = old["median_ms"], now = row["median_ms"], ratio = now / before;
    const double before_low = old["median_interval_ms"].at(0), low = row["median_interval_ms"][0];
    const double before_high = old["median_interval_ms"].at(1), high = row["median_interval_ms"][1];
    const double down = ratio * std::exp(-joined(now / low, before_high / before));
    const double up = ratio * std::exp(joined(high / now, before / before_low));
    row["baseline"] = {{"median_ms", before},
                       {"change", rounded_number(ratio - 1)},
                       {"change_interval", {rounded_number(down - 1), rounded_number(up - 1)}}};
    return;
  }
}

std::string BenchBaseline::text(const ordered_json& row) {
  if (!row.contains("baseline")) return "";
  const ordered_json& change = row["baseline"];
  const double by = change["change"], low = change["change_interval"][0],
               high = change["change_interval"][1];
  return fmt::format("    change: {:+.1f} % ({:+.1f} to {:+.1f} %)\n", 100 * by, 100 * low,
                     100 * high);
}

}  // namespace bert::tools

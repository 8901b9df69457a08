// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_report.h"

#include <cmath>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

#include "tokenizer/files/files.h"
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

// What a time depends on: two checkpoints of the same sizes take as long.
std::string model_name(const bert::Info& info) {
  return fmt::format("{} L={} H={} A={} I={} V={}", info.family, info.layers, info.hidden,
                     info.heads, info.intermediate, info.vocabulary);
}

// Whether it is a number of milliseconds; the limits keep quotients of two finite.
bool is_time(const ordered_json& value) {
  return value.is_number() && value.get<double>() > 1e-9 && value.get<double>() < 1e15;
}

// Throws what is wrong with a baseline's row, if anything. Rows that earlier versions wrote have no
// model and processor.
void check_row(const ordered_json& row) {
  if (!row.is_object()) throw std::runtime_error("is not a JSON object, as --json writes");
  const auto check = [&row](const char* key, bool is_right, const char* expected) {
    if (is_right) return;
    const std::string found = row[key].dump(-1, ' ', true, ordered_json::error_handler_t::replace);
    throw std::runtime_error(fmt::format("{} is {}, expected {}", key, found, expected));
  };
  for (const char* key :
       {"shape", "task", "precision", "backend", "threads", "median_ms", "median_interval_ms"}) {
    if (row.contains(key)) continue;
    throw std::runtime_error(fmt::format("has no {}, which bert-bench --json writes", key));
  }
  for (const char* key :
       {"shape", "task", "precision", "backend", "model", "processor", "instruction_set"}) {
    check(key, !row.contains(key) || row[key].is_string(), "a string");
  }
  for (const char* key : {"threads", "runs"}) {
    const bool is_right = !row.contains(key) || (row[key].is_number_unsigned() && row[key] > 0);
    check(key, is_right, "a positive whole number");
  }
  check("median_ms", is_time(row["median_ms"]), "a positive number");
  const ordered_json& interval = row["median_interval_ms"];
  const bool is_interval =
      interval.is_array() && interval.size() == 2 && is_time(interval[0]) && is_time(interval[1]);
  check("median_interval_ms", interval.is_null() || is_interval, "two positive numbers, or null");
}

// Earlier versions wrote an interval for any number of runs.
bool has_interval(const ordered_json& row) {
  constexpr int kFewestRuns = 6;
  return !row["median_interval_ms"].is_null() &&
         (!row.contains("runs") || row["runs"] >= kFewestRuns);
}

// The error of the logarithm of two medians' quotient, from each median's error as a ratio.
double joined(double a, double b) { return std::hypot(std::log(a), std::log(b)); }

// Of the medians' ratio, less 1.
ordered_json change_interval(const ordered_json& old, const ordered_json& row) {
  if (!has_interval(old) || !has_interval(row)) return nullptr;
  const double before = old["median_ms"], now = row["median_ms"], ratio = now / before;
  const double before_low = old["median_interval_ms"][0], low = row["median_interval_ms"][0];
  const double before_high = old["median_interval_ms"][1], high = row["median_interval_ms"][1];
  return {rounded_number(ratio * std::exp(-joined(now / low, before_high / before)) - 1),
          rounded_number(ratio * std::exp(joined(high / now, before / before_low)) - 1)};
}

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

ordered_json timing_json(const TimedShape& timed, const std::string& task,
                         const ordered_json& environment) {
  const auto& [shape, batch, work, timing, info] = timed;
  const double median = timing.median(), flops_per_s = work.flops / median;
  ordered_json quantiles = ordered_json::array();
  constexpr int kSteps = 40;
  for (int i = 0; i <= kSteps; ++i) {
    quantiles.push_back(milliseconds(timing.quantile(static_cast<double>(i) / kSteps)));
  }
  ordered_json interval;  // null
  if (const auto found = timing.median_interval()) {
    interval = {milliseconds(found->first), milliseconds(found->second)};
  }
  ordered_json row = {{"shape", shape},
                      {"task", task},
                      {"model", model_name(info)},
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
                      {"median_interval_ms", interval},
                      {"quantiles_ms", quantiles},
                      {"processor", environment["processor"]},
                      {"instruction_set", environment["instruction_set"]}};
  if (timing.multiply_add_peak > 0) {
    row["multiply_add_peak_gflops"] = timing.multiply_add_peak / 1e9;
  }
  if (timing.bandwidth > 0) {
    row["profile_ms"] = profile_json(timing);
    row["floor_ms"] = {{"compute", 1e3 * work.flops / timing.peak()},
                       {"onednn_peak_gflops", timing.onednn_peak / 1e9},
                       {"weights", 1e3 * work.bytes / timing.bandwidth},
                       {"bandwidth_gb_per_s", timing.bandwidth / 1e9}};
  }
  return row;
}

BenchBaseline::BenchBaseline(const std::string& path) : path_(path) {
  std::istringstream file(read_whole(path));
  for (std::string line; std::getline(file, line);) {
    rows_.push_back(tokenizer::nests_too_deep(line) ? ordered_json()
                                                    : ordered_json::parse(line, nullptr, false));
    try {
      check_row(rows_.back());
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(fmt::format("{}:{}: {}", path, rows_.size(), error.what()));
    }
  }
  if (rows_.empty()) throw std::runtime_error(path + ": is empty, expected what --json wrote");
}

std::string BenchBaseline::compare(ordered_json& row) const {
  const ordered_json *found = nullptr, *other = nullptr;  // the last of this model, of another
  for (const ordered_json& old : rows_) {
    bool is_same = true;
    for (const char* key : {"shape", "task", "precision", "backend", "threads"}) {
      is_same = is_same && old[key] == row[key];
    }
    if (!is_same) continue;
    (!old.contains("model") || old["model"] == row["model"] ? found : other) = &old;
  }
  const auto string_of = [](const ordered_json& of, const char* key) {
    return of[key].get<std::string>();
  };
  if (!found) {
    const std::string what = fmt::format("{} ({}, {}, {}, threads: {})", string_of(row, "shape"),
                                         string_of(row, "task"), string_of(row, "precision"),
                                         string_of(row, "backend"), row["threads"].get<int>());
    if (!other) return fmt::format("{}: has no {}, which is not compared", path_, what);
    return fmt::format("{}: {} is of another model ({}, now {}) and not compared", path_, what,
                       string_of(*other, "model"), string_of(row, "model"));
  }
  const double before = (*found)["median_ms"], now = row["median_ms"];
  row["baseline"] = {{"median_ms", before},
                     {"change", rounded_number(now / before - 1)},
                     {"change_interval", change_interval(*found, row)}};
  for (const char* key : {"model", "processor", "instruction_set"}) {
    if (found->contains(key)) continue;
    return fmt::format("{}: does not say of which {} it is; it is taken to be the same", path_,
                       key);
  }
  if ((*found)["processor"] == row["processor"] &&
      (*found)["instruction_set"] == row["instruction_set"]) {
    return "";
  }
  const std::string processor =
      fmt::format("{}, {}", string_of(*found, "processor"), string_of(*found, "instruction_set"));
  row["baseline"]["processor"] = processor;
  return fmt::format("{}: was timed on another processor ({})", path_, processor);
}

std::string BenchBaseline::text(const ordered_json& row) {
  if (!row.contains("baseline")) return "";
  const ordered_json& change = row["baseline"];
  const double by = change["change"];
  if (change["change_interval"].is_null()) {
    return fmt::format("    change: {:+.1f} % (too few runs for an interval)\n", 100 * by);
  }
  const double low = change["change_interval"][0], high = change["change_interval"][1];
  return fmt::format("    change: {:+.1f} % ({:+.1f} to {:+.1f} %)\n", 100 * by, 100 * low,
                     100 * high);
}

}  // namespace bert::tools

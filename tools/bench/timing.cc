// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/timing.h"

#include <chrono>
#include <cmath>
#include <numbers>
#include <numeric>

#include "engine/peak.h"
#include "models/directory/inspection.h"

namespace bert::tools {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kLeastSeconds = 0.5;  // of the timed runs of a shape
double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Ids spread over the vocabulary; the second half of each input is its second segment, if the model
// has one.
std::vector<bert::Encoding> make_inputs(const std::vector<int>& lengths, const bert::Model& model) {
  const int vocabulary = model.info().vocabulary;
  const bool has_second = models::segments_of(model) > 1;
  std::vector<bert::Encoding> inputs;
  for (const int length : lengths) {
    bert::Encoding& input = inputs.emplace_back();
    for (int s = 0; s < length; ++s) {
      const int64_t i = std::ssize(inputs) * 4099 + s;
      input.ids.push_back(static_cast<int32_t>(i * 7919 % vocabulary));
      input.type_ids.push_back(has_second && 2 * s > length ? 1 : 0);
    }
  }
  return inputs;
}

Work work_of(const models::Pass& pass, const std::vector<int>& lengths, bool logits) {
  const models::Pass::Work of_pass = pass.work(logits);
  return {.tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t{0}),
          .flops = of_pass.operations,
          .bytes = of_pass.bytes};
}

void measure_peak(models::Pass& pass, Timing& timing) {
  const engine::Precision precision = pass.precision();
  engine::Team team(pass.scheduler());
  timing.onednn_peak = std::max(timing.onednn_peak, engine::matmul_peak(team, precision));
  timing.multiply_add_peak =
      std::max(timing.multiply_add_peak,
               engine::multiply_add_peak(team, precision) * (pass.halves_on_tiles() ? 2 : 1));
}

// All models have as many threads, so one measurement is for all of the same precision.
void measure_peaks(std::vector<models::Pass>& passes, std::vector<Timing>& timings) {
  measure_peak(passes.front(), timings.front());
  for (size_t i = 1; i < passes.size(); ++i) {
    if (passes[i].precision() != passes.front().precision()) {
      measure_peak(passes[i], timings[i]);
      continue;
    }
    timings[i].onednn_peak = timings.front().onednn_peak;
    timings[i].multiply_add_peak = timings.front().multiply_add_peak;
  }
}

void finish(Timing& timing, std::vector<double> seconds) {
  const auto runs = static_cast<double>(seconds.size());
  for (double& part : timing.profile) part /= runs;
  timing.mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / runs;
  std::ranges::sort(seconds);
  timing.seconds = std::move(seconds);
}

}  // namespace

double Timing::quantile(double share) const {
  return seconds[static_cast<size_t>(std::lround(share * static_cast<double>(seconds.size() - 1)))];
}

// The number of runs below the true median is binomial, whatever the distribution of the times: at
// either end, as many runs are left out as lie beyond it with a probability of at most 2.5 %.
std::optional<std::pair<double, double>> Timing::median_interval() const {
  constexpr double kTail = 0.025;
  const auto runs = static_cast<double>(seconds.size());
  const auto probability = [runs](size_t runs_below) {
    const auto k = static_cast<double>(runs_below);
    return std::exp(std::lgamma(runs + 1) - std::lgamma(k + 1) - std::lgamma(runs - k + 1) -
                    runs * std::numbers::ln2);
  };
  size_t ends = 0;  // the interval begins with the run of this number, counted from 1
  for (double below = probability(0); below <= kTail; below += probability(ends)) ++ends;
  if (ends == 0) return std::nullopt;
  return std::pair(seconds[ends - 1], seconds[seconds.size() - ends]);
}

std::vector<Timing> time_shape(const BenchOptions& options, const std::vector<bert::Model>& models,
                               const std::vector<int>& lengths, ProgressBar& bar) {
  std::vector<models::Pass> passes;
  std::vector<Timing> timings;
  std::vector<std::vector<double>> seconds(models.size());
  const auto once = [&](models::Pass& pass) {
    options.task == "logits" ? pass.logits() : pass.hidden();
  };
  for (const bert::Model& model : models) {
    models::Pass& pass = passes.emplace_back(model, make_inputs(lengths, model));
    Timing& timing = timings.emplace_back();
    timing.backend = model.info().backend;
    timing.product = pass.product();
    timing.work = work_of(pass, lengths, options.task == "logits");
  }
  measure_peaks(passes, timings);
  if (options.measures_profile()) {
    engine::Team team(passes.front().scheduler());
    timings.front().bandwidth = engine::read_bandwidth(team);
  }
  for (size_t i = 0; i < passes.size(); ++i) {
    timings[i].bandwidth = timings.front().bandwidth;
    for (int k = 0; k < 2; ++k) once(passes[i]);
  }
  double shown = 0;
  for (const auto begin = Clock::now(); shown < 1;) {
    for (size_t i = 0; i < passes.size(); ++i) {
      engine::profile = options.measures_profile() ? &timings[i].profile : nullptr;
      const auto start = Clock::now();
      once(passes[i]);
      seconds[i].push_back(seconds_since(start));
    }
    const double runs = static_cast<double>(seconds[0].size()) / options.runs;
    const double done = std::min({1.0, runs, seconds_since(begin) / kLeastSeconds});
    bar.add(done - shown);
    shown = done;
  }
  engine::profile = nullptr;
  measure_peaks(passes, timings);
  for (size_t i = 0; i < passes.size(); ++i) finish(timings[i], std::move(seconds[i]));
  return timings;
}

}  // namespace bert::tools

// SPDX-License-Identifier: Apache-2.0
//
// What is counted, in the names of text-embeddings-inference where it has one.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace bert::tools::serve {

// Values in buckets whose upper bounds grow by a factor.
class Histogram {
 public:
  Histogram(double first, double factor);
  void add(double value, int64_t times = 1);
  // In Prometheus' text format.
  void append(std::string& text, std::string_view name, std::string_view about) const;

 private:
  static constexpr size_t kBuckets = 35;
  std::array<double, kBuckets> bounds_;
  std::array<std::atomic<int64_t>, kBuckets + 1> counts_{};
  std::atomic<double> sum_ = 0;
};

void append_metric(std::string& text, std::string_view name, std::string_view type,
                   std::string_view about);
void append_value(std::string& text, std::string_view name, std::string_view labels, double value);

class Metrics {
 public:
  void count_request(bool is_batch) { ++(is_batch ? batch_ : single_); }
  void count_success(bool is_batch) { ++(is_batch ? batch_success_ : single_success_); }
  void count_failure(const char* reason);
  void count_response(int status);

  Histogram duration{15e-6, 1.5}, tokenization{15e-6, 1.5}, queue{15e-6, 1.5},
      inference{15e-6, 1.5};
  Histogram input_length{1, 2}, batch_inputs{1, 2}, batch_tokens{1, 2};

  void append(std::string& text) const;

 private:
  std::atomic<int64_t> single_ = 0, batch_ = 0, single_success_ = 0, batch_success_ = 0;
  mutable std::mutex mutex_;
  std::map<std::string, int64_t, std::less<>> failures_;
  std::array<std::atomic<int64_t>, 600> responses_{};  // by status
};

}  // namespace bert::tools::serve

// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/metrics.h"

#include <algorithm>

#include <fmt/format.h>

namespace bert::tools::serve {

Histogram::Histogram(double first, double factor) {
  for (double& bound : bounds_) {
    bound = first;
    first *= factor;
  }
}

void Histogram::add(double value, int64_t times) {
  const auto bucket = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
  counts_[static_cast<size_t>(bucket)].fetch_add(times, std::memory_order_relaxed);
  sum_.fetch_add(value * static_cast<double>(times), std::memory_order_relaxed);
}

void append_metric(std::string& text, std::string_view name, std::string_view type,
                   std::string_view about) {
  text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, about);
}

void append_value(std::string& text, std::string_view name, std::string_view labels, double value) {
  text += fmt::format("{}{} {}\n", name, labels, value);
}

void Histogram::append(std::string& text, std::string_view name, std::string_view about) const {
  append_metric(text, name, "histogram", about);
  const std::string bucket = fmt::format("{}_bucket", name);
  int64_t count = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    count += counts_[i];
    append_value(text, bucket, fmt::format("{{le=\"{:.6g}\"}}", bounds_[i]),
                 static_cast<double>(count));
  }
  count += counts_[kBuckets];
  append_value(text, bucket, "{le=\"+Inf\"}", static_cast<double>(count));
  append_value(text, fmt::format("{}_sum", name), "", sum_);
  append_value(text, fmt::format("{}_count", name), "", static_cast<double>(count));
}

void Metrics::count_failure(const char* reason) {
  const std::lock_guard lock(mutex_);
  ++failures_[reason];
}

void Metrics::count_response(int status) {
  const auto i = static_cast<size_t>(status);
  if (i < responses_.size()) ++responses_[i];
}

void Metrics::append(std::string& text) const {
  const auto both = [&](const char* name, const char* about, int64_t single, int64_t batch) {
    append_metric(text, name, "counter", about);
    append_value(text, name, "{method=\"single\"}", static_cast<double>(single));
    append_value(text, name, "{method=\"batch\"}", static_cast<double>(batch));
  };
  both("te_request_count", "Requests for computation.", single_, batch_);
  both("te_request_success", "Requests that were answered.", single_success_, batch_success_);
  duration.append(text, "te_request_duration",
                  "Seconds from a request's first byte to its answer.");
  tokenization.append(text, "te_request_tokenization_duration", "Seconds of reading a request.");
  queue.append(text, "te_request_queue_duration", "Seconds before computation.");
  inference.append(text, "te_request_inference_duration", "Seconds of computation.");
  input_length.append(text, "te_request_input_length", "Tokens of a request's mean input.");
  batch_inputs.append(text, "te_batch_next_size", "Inputs in a batch.");
  batch_tokens.append(text, "te_batch_next_tokens", "Tokens in a batch.");
  const std::lock_guard lock(mutex_);
  append_metric(text, "te_request_failure", "counter", "Requests that were refused or failed.");
  for (const auto& [reason, count] : failures_) {
    append_value(text, "te_request_failure", fmt::format("{{err=\"{}\"}}", reason),
                 static_cast<double>(count));
  }
  append_metric(text, "bert_serve_responses_total", "counter", "Responses by status.");
  for (size_t status = 0; status < responses_.size(); ++status) {
    if (responses_[status] == 0) continue;
    append_value(text, "bert_serve_responses_total", fmt::format("{{status=\"{}\"}}", status),
                 static_cast<double>(responses_[status]));
  }
}

}  // namespace bert::tools::serve

// SPDX-License-Identifier: Apache-2.0
#include "tools/infer/answers/ranked_labels.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tokenizer/unicode/printable.h"
#include "tools/console/numbers.h"

namespace bert::tools {
namespace {

// The first of equals first.
std::vector<bert::Label> ranked(std::span<const float> logits, const bert::Info& info,
                                const InferOptions& options) {
  const std::vector<float> scores = bert::probabilities(logits, info);
  std::vector<int> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) { return scores[a] > scores[b]; });
  if (options.is_given("--top-k")) {
    order.resize(std::min(order.size(), static_cast<size_t>(options.top_k)));
  }
  std::vector<bert::Label> labels;
  for (const int i : order) {
    if (scores[i] < options.threshold) break;
    labels.push_back({i, info.labels[i], scores[i]});
  }
  return labels;
}

}  // namespace

void append_ranked(std::string& line, std::span<const float> logits, const bert::Info& info,
                   const InferOptions& options) {
  nlohmann::ordered_json labels = nlohmann::ordered_json::array();
  for (const bert::Label& label : ranked(logits, info, options)) {
    labels.push_back({{"label", label.name}, {"probability", json_number(label.probability)}});
  }
  line += ", \"labels\": ";
  append_json(line, labels);
}

std::string ranked_text(std::span<const float> logits, const bert::Info& info,
                        const InferOptions& options) {
  std::string text;
  for (const bert::Label& label : ranked(logits, info, options)) {
    append_score(text, label.name, label.probability);
  }
  return text.empty() ? "no label" : text;
}

void append_score(std::string& text, const std::string& label, float score) {
  text += fmt::format("{}{} {:.4f}", text.empty() ? "" : ", ", tokenizer::printable(label), score);
}

}  // namespace bert::tools

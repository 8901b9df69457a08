// SPDX-License-Identifier: Apache-2.0
#include "tools/regress/comparison/regression.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/directory/inspection.h"
#include "tools/console/lines/input_lines.h"
#include "tools/console/progress_bar.h"

namespace bert::tools {

Regression::Regression(const RegressOptions& options, const bert::Model& model)
    : model_(model), reference_(options.reference, model), labels_(model) {
  for (const ReferenceStage& stage : reference_.stages()) {
    const Tolerance tolerance = options.tolerance(model.info().precision, stage);
    stages_.push_back({.reference = stage, .tolerance = tolerance});
  }
}

void Regression::run(const std::function<void()>& before_each) {
  ProgressBar bar("comparing", static_cast<double>(reference_.starts().back()), "tokens");
  for (size_t n = 0; n < reference_.encodings().size(); ++n) {
    const bert::Encoding& encoding = reference_.encodings()[n];
    before_each();
    try {
      models::run_traced(model_, encoding,
                         [&](std::string_view name, const float* values, int64_t rows,
                             int64_t columns) { compare(name, n, values, rows, columns); });
    } catch (const bert::Error& error) {
      const std::string_view reason = reason_alone(error.what());
      if (reason.starts_with(reference_.path())) throw;  // thrown by compare()
      reference_.fail(fmt::format("input {}: {}", n, reason));
    }
    bar.add(static_cast<double>(encoding.ids.size()));
  }
  for (const StageResult& stage : stages_) {
    if (stage.seen) continue;
    reference_.fail(
        fmt::format("contains {}, which the model does not have", stage.reference.expected->name));
  }
}

void Regression::compare(std::string_view name, size_t n, const float* values, int64_t rows,
                         int64_t columns) {
  const auto order = stage_order(std::string(name), model_.info().layers);
  const auto found = std::ranges::find_if(
      stages_, [&](const StageResult& stage) { return stage.reference.order == order; });
  if (found == stages_.end()) return;
  StageResult& stage = *found;
  const models::StoredTensor& tensor = *stage.reference.expected;
  if (tensor.shape[1] != columns) {
    reference_.fail(
        fmt::format("{} has {} columns, but the model's has {}", name, tensor.shape[1], columns));
  }
  stage.seen = true;
  const int64_t row = stage.reference.by_token ? reference_.starts()[n] : static_cast<int64_t>(n);
  const auto size = static_cast<size_t>(rows * columns);
  std::vector<double> expected(size);
  for (size_t i = 0; i < size; ++i) {
    const auto at = static_cast<int64_t>(i);
    expected[i] = tensor.at(row * columns + at);
    stage.compare(values[i], expected[i], {static_cast<int64_t>(n), at / columns, at % columns});
  }
  if (name == "logits") {
    labels_.compare(static_cast<int64_t>(n), {values, size}, expected, columns);
  }
}

std::string Regression::difference() const {
  if (!reference_.ids_difference().empty()) return reference_.ids_difference();
  for (const StageResult& stage : stages_) {
    if (!stage.is_within()) return stage.difference();
  }
  return "";
}

}  // namespace bert::tools

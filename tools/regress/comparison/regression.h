// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/bert_infer.h"
#include "tools/regress/comparison/changed_labels.h"
#include "tools/regress/comparison/stage_result.h"
#include "tools/regress/reference_file.h"
#include "tools/regress/regress_options.h"

namespace bert::tools {

// The comparison of a model with a reference file. Errors in the file are std::runtime_error.
class Regression {
 public:
  // The model must outlive it.
  Regression(const RegressOptions& options, const bert::Model& model);

  // Calls before_each() before each input; it may throw to end the run.
  void run(const std::function<void()>& before_each);

  const bert::Model& model() const { return model_; }
  const ReferenceFile& reference() const { return reference_; }
  const std::vector<StageResult>& stages() const { return stages_; }  // in their order
  const ChangedLabels& labels() const { return labels_; }
  // The first thing, in the order of the forward pass, that is out of tolerance; "" if nothing is.
  std::string difference() const;

 private:
  void compare(std::string_view name, size_t n, const float* values, int64_t rows, int64_t columns);

  const bert::Model& model_;
  const ReferenceFile reference_;
  std::vector<StageResult> stages_;
  ChangedLabels labels_;
};

}  // namespace bert::tools

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/bert_infer.h"

namespace bert::tools {

// Labels by the model's logits that are not those by the reference's. Logits that are not finite
// give none, and count as changed.
class ChangedLabels {
 public:
  struct Change {
    int64_t input = 0, token = 0;  // token: 0 if the head answers for the whole input
    std::string expected, found;
    double margin =
        0;  // of the expected label's logit over the other's, in the reference; NaN if one has none
  };

  explicit ChangedLabels(const bert::Model& model) : model_(model) {}

  // Of one input: found and expected are both [rows, columns].
  void compare(int64_t input, std::span<const float> found, std::span<const double> expected,
               int64_t columns);

  int64_t compared() const { return compared_; }
  int64_t changed() const { return changed_; }
  const std::vector<Change>& changes() const { return changes_; }  // the first kMost

 private:
  static constexpr size_t kMost = 50;
  void compare_best(int64_t input, int64_t token, std::span<const double> found,
                    std::span<const double> expected);
  void compare_signs(int64_t input, int64_t token, std::span<const double> found,
                     std::span<const double> expected);
  void add(Change change);
  std::string name_of(size_t label, size_t labels) const;

  const bert::Model& model_;
  int64_t compared_ = 0, changed_ = 0;
  std::vector<Change> changes_;
};

}  // namespace bert::tools

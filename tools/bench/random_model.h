// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace bert::tools {

// A BertForSequenceClassification with random weights, in a temporary directory that its destructor
// removes. Throws UsageError for an invalid shape, std::runtime_error if it cannot be written.
class RandomModel {
 public:
  // base, large, small, mini, tiny (Turc et al. 2019), or "L,H,A,I".
  explicit RandomModel(const std::string& shape);
  ~RandomModel();
  RandomModel(const RandomModel&) = delete;
  RandomModel& operator=(const RandomModel&) = delete;

  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
};

}  // namespace bert::tools

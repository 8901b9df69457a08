// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace bert::tools {

// A BertForSequenceClassification with random weights. Its files have no names, so that nothing of
// them is left behind if the program is killed; a temporary directory, which the destructor removes
// and also SIGINT, SIGTERM and SIGHUP, has links to them. There must be no Stop while it lives.
// Throws UsageError for an invalid shape, std::runtime_error if it cannot be written.
class RandomModel {
 public:
  // base, large, small, mini, tiny (Turc et al. 2019), or "L,H,A,I".
  explicit RandomModel(const std::string& shape);
  ~RandomModel();
  RandomModel(const RandomModel&) = delete;
  RandomModel& operator=(const RandomModel&) = delete;

  const std::string& directory() const;

 private:
  class NamelessFile;
  class Links;
  std::vector<std::pair<std::string, std::unique_ptr<NamelessFile>>> files_;  // by name
  std::unique_ptr<Links> links_;
};

}  // namespace bert::tools

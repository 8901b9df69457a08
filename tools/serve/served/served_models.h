// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/serve/served/served_model.h"

namespace bert::tools::serve {

// All models of a server, in the order of its command line.
class ServedModels {
 public:
  struct Source {
    std::string name, directory, adapter = {};
  };
  // Adds a model, and logs it. answered: see bert::QueueOptions. Throws bert::Error.
  void load(const Source& source, const bert::Options& options,
            const std::function<void()>& answered);

  const std::vector<std::unique_ptr<ServedModel>>& all() const { return models_; }
  bert::QueueStatistics statistics() const;  // of all queues together
  // Throw RequestError where there is no such model, or where it cannot do this.
  const ServedModel& named(std::string_view name) const;
  const ServedModel& named(std::string_view name, Ability ability) const;
  // The first that is for this; else the first that can do it.
  const ServedModel& first(Ability ability) const;
  // The model whose name a path begins with, and the rest of the path, which begins with '/' or is
  // empty. Names may have slashes themselves.
  std::pair<const ServedModel*, std::string_view> in_path(std::string_view path) const;

 private:
  std::string names() const;

  std::vector<std::unique_ptr<ServedModel>> models_;
};

}  // namespace bert::tools::serve

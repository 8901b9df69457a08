// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "tokenizer/files/files.h"

namespace bert::models {

// A JSON object from a file, read field by field. Errors name the file, the field, what was found
// and what was expected. A field that is null counts as absent, as it does in transformers.
class JsonFile {
 public:
  explicit JsonFile(std::string path);

  const nlohmann::json& root() const { return root_; }
  void set(const std::string& field, nlohmann::json value) { root_[field] = std::move(value); }
  const nlohmann::json* find(const std::string& field) const;  // nullptr where absent
  [[noreturn]] void fail(const std::string& field, const std::string& expected) const;

  // Without a fallback the field is required.
  int64_t integer(const std::string& field, int64_t least, int64_t most,
                  std::optional<int64_t> fallback = std::nullopt) const;
  double number(const std::string& field, double fallback) const;
  bool boolean(const std::string& field, bool fallback) const;
  std::string text(const std::string& field,
                   const std::optional<std::string>& fallback = std::nullopt) const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  nlohmann::json root_;
};

using tokenizer::file_exists;

}  // namespace bert::models

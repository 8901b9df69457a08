// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tokenizer/files/files.h"
#include "tokenizer/files/json_field.h"

namespace bert::models {

using tokenizer::is_there;
using tokenizer::JsonField;

// A file that holds a JSON object, whose fields are read through JsonField. A field that is null
// counts as absent, as in transformers.
class JsonFile {
 public:
  explicit JsonFile(std::string path);
  // An object within a file. path: for messages.
  JsonFile(std::string path, nlohmann::json object)
      : path_(std::move(path)), root_(std::move(object)) {}

  const std::string& path() const { return path_; }
  const nlohmann::json& root() const { return root_; }
  // path: where the file itself has the value, for messages, if not there.
  void set(const std::string& field, nlohmann::json value, const std::string& path = {});

  const nlohmann::json* find(const std::string& field) const;  // nullptr if absent
  bool has(const std::string& field) const;
  JsonField at(const std::string& field) const;
  // The fields that are not null and were never asked for.
  std::vector<std::string> unread() const;
  // "PATH: FIELD: found VALUE, expected ...", or "PATH: "FIELD" is missing, expected ..."
  [[noreturn]] void fail(const std::string& field, const std::string& expected) const;

  // Without a fallback, the field is required.
  int64_t integer(const std::string& field, int64_t min, int64_t max,
                  std::optional<int64_t> fallback = std::nullopt) const;
  double number(const std::string& field, double fallback) const;
  bool boolean(const std::string& field, bool fallback) const;
  std::string text(const std::string& field,
                   const std::optional<std::string>& fallback = std::nullopt) const;

 private:
  JsonField document() const { return {root_, path_}; }

  std::string path_;
  nlohmann::json root_;
  std::map<std::string, std::string> paths_;  // of fields that the file has elsewhere
  mutable std::set<std::string> asked_for_;
};

}  // namespace bert::models

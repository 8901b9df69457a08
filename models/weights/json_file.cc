// SPDX-License-Identifier: Apache-2.0
#include "models/weights/json_file.h"

#include <utility>

#include <fmt/format.h>

namespace bert::models {

JsonFile::JsonFile(std::string path)
    : path_(std::move(path)), root_(tokenizer::parse_json(path_)) {}

void JsonFile::set(const std::string& field, nlohmann::json value, const std::string& path) {
  root_[field] = std::move(value);
  paths_.erase(field);
  if (!path.empty() && !root_[field].is_null()) paths_[field] = path;
}

bool JsonFile::has(const std::string& field) const {
  asked_for_.insert(field);
  return document().has(field);
}

JsonField JsonFile::at(const std::string& field) const {
  asked_for_.insert(field);
  const auto elsewhere = paths_.find(field);
  if (elsewhere != paths_.end()) return {root_.at(field), path_, elsewhere->second};
  return document().at(field);
}

std::vector<std::string> JsonFile::unread() const {
  std::vector<std::string> fields;
  for (const auto& [field, value] : root_.items()) {
    if (!value.is_null() && !asked_for_.contains(field)) fields.push_back(field);
  }
  return fields;
}

const nlohmann::json* JsonFile::find(const std::string& field) const {
  return has(field) ? &root_.at(field) : nullptr;
}

void JsonFile::fail(const std::string& field, const std::string& expected) const {
  if (has(field)) at(field).fail(expected);
  document().fail_with(fmt::format("\"{}\" is missing, expected {}", field, expected));
}

int64_t JsonFile::integer(const std::string& field, int64_t min, int64_t max,
                          std::optional<int64_t> fallback) const {
  return fallback && !has(field) ? *fallback : at(field).integer(min, max);
}

double JsonFile::number(const std::string& field, double fallback) const {
  return has(field) ? at(field).number() : fallback;
}

bool JsonFile::boolean(const std::string& field, bool fallback) const {
  return has(field) ? at(field).boolean() : fallback;
}

std::string JsonFile::text(const std::string& field,
                           const std::optional<std::string>& fallback) const {
  return fallback && !has(field) ? *fallback : at(field).string();
}

}  // namespace bert::models

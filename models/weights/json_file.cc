// SPDX-License-Identifier: Apache-2.0
#include "models/weights/json_file.h"

#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "engine/mapped_file.h"

namespace bert::models {
namespace {

// As much of a value as an error message can bear.
std::string shown(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', true);
  if (text.size() > 60) text.replace(60, std::string::npos, "…");
  return text;
}

}  // namespace

JsonFile::JsonFile(std::string path) : path_(std::move(path)) {
  const engine::MappedFile file(path_);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  root_ = tokenizer::parse_json_text(text, path_);
}

const nlohmann::json* JsonFile::find(const std::string& field) const {
  if (!root_.is_object()) throw std::runtime_error(path_ + ": expected a JSON object");
  const auto found = root_.find(field);
  return found == root_.end() || found->is_null() ? nullptr : &*found;
}

void JsonFile::fail(const std::string& field, const std::string& expected) const {
  const nlohmann::json* value = find(field);
  throw std::runtime_error(fmt::format("{}: '{}' is {}, expected {}", path_, field,
                                       value ? shown(*value) : "missing", expected));
}

int64_t JsonFile::integer(const std::string& field, int64_t least, int64_t most,
                          std::optional<int64_t> fallback) const {
  const nlohmann::json* value = find(field);
  if (!value && fallback) return *fallback;
  if (!value || !value->is_number_integer() || *value < least || *value > most) {
    fail(field, fmt::format("a whole number from {} to {}", least, most));
  }
  return value->get<int64_t>();
}

double JsonFile::number(const std::string& field, double fallback) const {
  const nlohmann::json* value = find(field);
  if (!value) return fallback;
  if (!value->is_number()) fail(field, "a number");
  return value->get<double>();
}

bool JsonFile::boolean(const std::string& field, bool fallback) const {
  const nlohmann::json* value = find(field);
  if (!value) return fallback;
  if (!value->is_boolean()) fail(field, "true or false");
  return value->get<bool>();
}

std::string JsonFile::text(const std::string& field,
                           const std::optional<std::string>& fallback) const {
  const nlohmann::json* value = find(field);
  if (!value && fallback) return *fallback;
  if (!value || !value->is_string()) fail(field, "a string");
  return value->get<std::string>();
}

}  // namespace bert::models

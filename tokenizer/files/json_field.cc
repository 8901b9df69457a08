// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/files/json_field.h"

#include <stdexcept>

#include <fmt/format.h>

namespace bert::tokenizer {

JsonField::JsonField(const nlohmann::json& value, std::string file, std::string path)
    : value_(&value), file_(std::move(file)), path_(std::move(path)) {}

bool JsonField::has(std::string_view name) const {
  if (!value_->is_object()) fail("an object");
  const auto member = value_->find(name);
  return member != value_->end() && !member->is_null();
}

bool JsonField::has_null(std::string_view name) const {
  if (!value_->is_object()) fail("an object");
  const auto member = value_->find(name);
  return member != value_->end() && member->is_null();
}

JsonField JsonField::at(std::string_view name) const {
  if (!value_->is_object()) fail("an object");
  const auto member = value_->find(name);
  if (member == value_->end()) fail_with(fmt::format("\"{}\" is missing", name));
  return {*member, file_, path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name)};
}

std::vector<JsonField> JsonField::elements() const {
  if (!value_->is_array()) fail("an array");
  std::vector<JsonField> out;
  for (const auto& element : *value_) {
    out.emplace_back(element, file_, fmt::format("{}[{}]", path_, out.size()));
  }
  return out;
}

std::vector<std::pair<std::string, JsonField>> JsonField::members() const {
  if (!value_->is_object()) fail("an object");
  std::vector<std::pair<std::string, JsonField>> out;
  for (const auto& [name, member] : value_->items()) {
    out.emplace_back(name, JsonField(member, file_, fmt::format("{}[\"{}\"]", path_, name)));
  }
  return out;
}

bool JsonField::boolean() const {
  if (!value_->is_boolean()) fail("true or false");
  return value_->get<bool>();
}

const std::string& JsonField::string() const {
  if (!value_->is_string()) fail("a string");
  return value_->get_ref<const std::string&>();
}

int64_t JsonField::integer(int64_t min, int64_t max) const {
  const bool fits = value_->is_number_unsigned()
                        ? value_->get<uint64_t>() <= static_cast<uint64_t>(max)
                        : value_->is_number_integer() && value_->get<int64_t>() <= max;
  if (!fits || value_->get<int64_t>() < min) {
    fail(min == max ? fmt::format("{}", min) : fmt::format("an integer from {} to {}", min, max));
  }
  return value_->get<int64_t>();
}

double JsonField::number() const {
  if (!value_->is_number()) fail("a number");
  return value_->get<double>();
}

void JsonField::fail(std::string_view expected) const {
  // Not a structure's contents: dump() recurses, and nesting is not limited.
  std::string found = value_->is_structured() ? fmt::format("an {}", value_->type_name())
                                              : value_->dump(-1, ' ', true);
  if (found.size() > 60) found = found.substr(0, 60) + "...";
  fail_with(fmt::format("found {}, expected {}", found, expected));
}

void JsonField::fail_with(std::string_view message) const {
  throw std::runtime_error(path_.empty() ? fmt::format("{}: {}", file_, message)
                                         : fmt::format("{}: {}: {}", file_, path_, message));
}

}  // namespace bert::tokenizer

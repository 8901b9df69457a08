// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace bert::tokenizer {

// A value in a JSON file, and its path in it. Reading it as the wrong type throws a
// std::runtime_error that names the file, the field, what was found and what was expected.
class JsonField {
 public:
  // The value must outlive this object. path: empty for the whole document.
  JsonField(const nlohmann::json& value, std::string file, std::string path = {});

  bool is_null() const { return value_->is_null(); }
  bool is_string() const { return value_->is_string(); }
  bool is_integer() const { return value_->is_number_integer(); }
  bool is_object() const { return value_->is_object(); }
  // Whether this object has the member and it is not null.
  bool has(std::string_view name) const;
  bool has_null(std::string_view name) const;
  JsonField at(std::string_view name) const;
  size_t size() const { return value_->size(); }                   // of an array or object
  std::vector<JsonField> elements() const;                         // of an array
  std::vector<std::pair<std::string, JsonField>> members() const;  // of an object, sorted by name

  bool boolean() const;
  const std::string& string() const;
  int64_t integer(int64_t min, int64_t max) const;
  double number() const;

  // "FILE: PATH: found VALUE, expected ..."; fail_with: "FILE: PATH: ..."
  [[noreturn]] void fail(std::string_view expected) const;
  [[noreturn]] void fail_with(std::string_view message) const;
  const std::string& file() const { return file_; }
  const std::string& path() const { return path_; }

 private:
  const nlohmann::json* value_;
  std::string file_, path_;
};

}  // namespace bert::tokenizer

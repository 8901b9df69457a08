// SPDX-License-Identifier: Apache-2.0
//
// A request's body, read by a table of fields: what is not in it is refused, and /openapi.json is
// made from it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/bert_infer.h"

namespace bert::tools::serve {

using nlohmann::json;

enum class FieldType {
  text,
  flag,
  whole,      // a number of at least 0
  count,      // of at least 1
  fraction,   // from 0 to 1
  texts,      // an array of strings
  some_text,  // a string or an array of strings
  inputs,     // a string, its token ids, or an array of those
  pairs,      // a string, a pair as an array of two, or an array of arrays of one or two
  ids,        // an array of token ids, or an array of those
  documents,  // an array of strings or of objects with a "text"
  object,
  array,
  any,
};

struct Field {
  const char* name;
  FieldType type;
  const char* about;
  bool required = false;
  const char* standard = "";  // the default, as JSON
};

using TextOrIds = std::variant<std::string, std::vector<int64_t>>;

// Parses a body. Throws RequestError, also where it is nested so deeply that it would only be a
// burden.
json parse_body(std::string_view text);

// "a number", "an array", ...
const char* type_of(const json& value);

// null counts as absent. The getters throw RequestError where a value is of another type.
class JsonObject {
 public:
  // where: the name of the object with a dot, for messages: "parameters.". Throws if the value is
  // no object, has other fields, or lacks one.
  JsonObject(const json& value, std::span<const Field> fields, std::string where = "");
  // A body in which Hugging Face's clients put some of a task's fields into "parameters": the
  // getters find those of both. "options" is ignored.
  static JsonObject of_task(const json& body, std::span<const Field> fields);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  const json* find(std::string_view name) const;
  std::optional<std::string> text(std::string_view name) const;
  bool flag(std::string_view name, bool standard) const;
  std::optional<int64_t> whole(std::string_view name, int64_t least, int64_t most) const;
  std::optional<float> fraction(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  // A string or a batch of them; `is_batch` says which.
  std::vector<std::string> some_text(std::string_view name, bool& is_batch) const;
  std::vector<TextOrIds> inputs(std::string_view name, bool& is_batch) const;
  std::vector<bert::Input> pairs(std::string_view name, bool& is_batch) const;
  std::vector<std::vector<int64_t>> ids(std::string_view name) const;
  std::vector<std::string> documents(std::string_view name) const;
  // The field as an object, or an empty one.
  JsonObject object(std::string_view name, std::span<const Field> fields) const;
  [[noreturn]] void fail(std::string_view name, const std::string& reason) const;

 private:
  JsonObject(const json& value, const json* parameters, std::span<const Field> fields,
             std::string where);
  void require_known(const json& value, const std::string& where) const;
  [[noreturn]] void wrong(std::string_view name, const json& found, const char* expected) const;
  std::string string_in(std::string_view name, const json& value, const char* expected) const;
  std::vector<int64_t> ids_in(std::string_view name, const json& value) const;

  const json& value_;
  const json* parameters_;  // of a task's body, or null
  std::span<const Field> fields_;
  std::string where_;
};

}  // namespace bert::tools::serve

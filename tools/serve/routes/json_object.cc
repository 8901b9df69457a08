// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/routes/json_object.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tokenizer/files/files.h"
#include "tokenizer/unicode/printable.h"
#include "tools/serve/served/request_error.h"

namespace bert::tools::serve {
namespace {

constexpr int kMostDepth = 16;
constexpr const char* kParameters = "parameters";
constexpr const char* kOptions = "options";
const json kNothing = json::object();

// Of an object, or of what is none and has none; null counts as absent.
const json* member(const json& value, std::string_view name) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(name);
  return found == value.end() || found->is_null() ? nullptr : &*found;
}

// Of a text that may be no JSON at all: the deepest nesting, and how many members its objects have,
// as each has a colon.
struct Extent {
  int depth = 0;
  size_t members = 0;
};
Extent extent_of(std::string_view text) {
  Extent most;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      most.depth = std::max(most.depth, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ':') {
      ++most.members;
    }
  }
  return most;
}

size_t members_of(const json& value) {
  size_t members = value.is_object() ? value.size() : 0;
  if (value.is_structured()) {
    for (const json& element : value) members += members_of(element);
  }
  return members;
}

// "[id] parse error at line 1, column 7: reason; last read: ..." to the part that helps.
std::string reason_of(const json::parse_error& error) {
  std::string_view what = error.what();
  what.remove_prefix(std::min(what.size(), what.find("] ") + 2));
  if (what.starts_with("parse error at")) what.remove_prefix(what.find(": ") + 2);
  what = what.substr(0, what.find("; last read"));
  return fmt::format("the body is not JSON at byte {}: {}", std::max<size_t>(error.byte, 1) - 1,
                     what.substr(0, 200));
}

// What a client wrote may be megabytes.
std::string shown(std::string_view text) { return tokenizer::printable(text, 60); }

}  // namespace

json parse_body(std::string_view text) {
  if (text.empty()) throw RequestError(Refusal::syntax, "the body is empty, expected JSON");
  // The parser would take it for the end, and leave out what follows.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    throw RequestError(Refusal::syntax,
                       fmt::format("the body is not JSON at byte {}: the byte is 0", zero));
  }
  const Extent extent = extent_of(text);
  if (extent.depth > kMostDepth) {
    throw RequestError(Refusal::syntax,
                       fmt::format("the body is nested more than {} deep", kMostDepth));
  }
  try {
    json body = json::parse(text);
    // Of two fields with the same name, either value would be a guess.
    if (members_of(body) != extent.members) {
      refuse_field(shown(tokenizer::duplicate_key(text).value_or("")), "is there twice");
    }
    return body;
  } catch (const json::parse_error& error) {
    throw RequestError(Refusal::syntax, reason_of(error));
  } catch (const json::exception&) {
    throw RequestError(Refusal::syntax, "the body has a number out of range");
  }
}

const char* type_of(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_string()) return "a string";
  if (value.is_boolean()) return "a boolean";
  return value.is_null() ? "null" : "a number";
}

JsonObject::JsonObject(const json& value, std::span<const Field> fields, std::string where)
    : JsonObject(value, nullptr, fields, std::move(where)) {}

JsonObject::JsonObject(const json& value, const json* parameters, std::span<const Field> fields,
                       std::string where)
    : value_(value), parameters_(parameters), fields_(fields), where_(std::move(where)) {
  require_known(value_, where_);
  if (parameters_ != nullptr) require_known(*parameters_, kParameters + std::string("."));
  for (const Field& field : fields_) {
    if (field.required && !has(field.name)) fail(field.name, "is missing");
    if (parameters_ != nullptr && member(value_, field.name) != nullptr &&
        member(*parameters_, field.name) != nullptr) {
      fail(field.name, "is both in the body and in its `parameters`");
    }
  }
}

JsonObject JsonObject::of_task(const json& body, std::span<const Field> fields) {
  const json* const options = member(body, kOptions);
  if (options != nullptr && !options->is_object()) {
    refuse_field(kOptions, fmt::format("is {}, expected an object", type_of(*options)));
  }
  const json* const parameters = member(body, kParameters);
  return {body, parameters == nullptr ? &kNothing : parameters, fields, ""};
}

void JsonObject::require_known(const json& value, const std::string& where) const {
  if (!value.is_object()) {
    throw RequestError(Refusal::validation,
                       where.empty()
                           ? fmt::format("the body is {}, expected an object", type_of(value))
                           : fmt::format("`{}` is {}, expected an object",
                                         where.substr(0, where.size() - 1), type_of(value)));
  }
  const bool is_task = parameters_ != nullptr && &value == &value_;
  for (const auto& [name, held] : value.items()) {
    if (std::ranges::find(fields_, std::string_view(name), &Field::name) != fields_.end()) continue;
    if (is_task && (name == kParameters || name == kOptions)) continue;
    std::string known;
    for (const Field& field : fields_)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", field.name);
    throw RequestError(Refusal::validation,
                       fmt::format("`{}{}` is unknown, expected {}", where, shown(name), known),
                       where + shown(name));
  }
}

void JsonObject::fail(std::string_view name, const std::string& reason) const {
  const bool is_parameter = parameters_ != nullptr && member(value_, name) == nullptr &&
                            member(*parameters_, name) != nullptr;
  refuse_field(
      is_parameter ? fmt::format("{}.{}", kParameters, name) : fmt::format("{}{}", where_, name),
      reason);
}

void JsonObject::wrong(std::string_view name, const json& found, const char* expected) const {
  fail(name, fmt::format("is or holds {}, expected {}", type_of(found), expected));
}

const json* JsonObject::find(std::string_view name) const {
  const json* const found = member(value_, name);
  return found == nullptr && parameters_ != nullptr ? member(*parameters_, name) : found;
}

std::string JsonObject::string_in(std::string_view name, const json& value,
                                  const char* expected) const {
  if (!value.is_string()) wrong(name, value, expected);
  return value.get<std::string>();
}

std::optional<std::string> JsonObject::text(std::string_view name) const {
  const json* const found = find(name);
  if (found == nullptr) return std::nullopt;
  return string_in(name, *found, "a string");
}

bool JsonObject::flag(std::string_view name, bool standard) const {
  const json* const found = find(name);
  if (found == nullptr) return standard;
  if (!found->is_boolean()) wrong(name, *found, "true or false");
  return found->get<bool>();
}

std::optional<int64_t> JsonObject::whole(std::string_view name, int64_t least, int64_t most) const {
  const json* const found = find(name);
  if (found == nullptr) return std::nullopt;
  const bool fits = found->is_number_unsigned()
                        ? found->get<uint64_t>() <= static_cast<uint64_t>(most)
                        : found->is_number_integer() && found->get<int64_t>() <= most;
  if (!fits || found->get<int64_t>() < least) {
    fail(name, fmt::format("is {}, expected a whole number from {} to {}", shown(found->dump()),
                           least, most));
  }
  return found->get<int64_t>();
}

std::optional<float> JsonObject::fraction(std::string_view name) const {
  const json* const found = find(name);
  if (found == nullptr) return std::nullopt;
  const double value = found->is_number() ? found->get<double>() : -1;
  if (!(value >= 0 && value <= 1)) {
    fail(name, fmt::format("is {}, expected a number from 0 to 1", shown(found->dump())));
  }
  return static_cast<float>(value);
}

std::vector<std::string> JsonObject::texts(std::string_view name) const {
  const json* const found = find(name);
  if (found == nullptr) return {};
  constexpr const char* kExpected = "an array of strings";
  if (!found->is_array()) wrong(name, *found, kExpected);
  std::vector<std::string> texts;
  for (const json& value : *found) texts.push_back(string_in(name, value, kExpected));
  return texts;
}

std::vector<std::string> JsonObject::some_text(std::string_view name, bool& is_batch) const {
  const json* const found = find(name);
  if (found == nullptr) fail(name, "is missing");
  is_batch = found->is_array();
  if (is_batch) return texts(name);
  return {string_in(name, *found, "a string or an array of strings")};
}

std::vector<int64_t> JsonObject::ids_in(std::string_view name, const json& value) const {
  std::vector<int64_t> ids;
  for (const json& id : value) {
    if (!id.is_number_integer()) wrong(name, id, "only token ids in an array that begins with one");
    if (id.is_number_unsigned() && id.get<uint64_t>() > INT64_MAX) {
      fail(name, fmt::format("holds {}, which is no token id", id.get<uint64_t>()));
    }
    ids.push_back(id.get<int64_t>());
  }
  return ids;
}

std::vector<TextOrIds> JsonObject::inputs(std::string_view name, bool& is_batch) const {
  const json* const found = find(name);
  constexpr const char* kExpected = "a string, an array of token ids, or an array of these";
  if (found == nullptr) fail(name, "is missing");
  is_batch = false;
  if (found->is_string()) return {found->get<std::string>()};
  if (!found->is_array()) wrong(name, *found, kExpected);
  if (!found->empty() && (*found)[0].is_number_integer()) return {ids_in(name, *found)};
  is_batch = true;
  std::vector<TextOrIds> inputs;
  for (const json& value : *found) {
    if (value.is_string()) {
      inputs.emplace_back(value.get<std::string>());
    } else if (value.is_array()) {
      inputs.emplace_back(ids_in(name, value));
    } else {
      wrong(name, value, kExpected);
    }
  }
  return inputs;
}

std::vector<bert::Input> JsonObject::pairs(std::string_view name, bool& is_batch) const {
  const json* const found = find(name);
  constexpr const char* kExpected =
      "a string, a pair of strings, or an array of arrays of one or two strings";
  if (found == nullptr) fail(name, "is missing");
  const auto one = [&](const json& value) -> bert::Input {
    if (!value.is_array() || value.empty() || value.size() > 2) wrong(name, value, kExpected);
    bert::Input input = {string_in(name, value[0], kExpected)};
    if (value.size() == 2) input.second = string_in(name, value[1], kExpected);
    return input;
  };
  is_batch = false;
  if (found->is_string()) return {{found->get<std::string>()}};
  if (!found->is_array()) wrong(name, *found, kExpected);
  if (!found->empty() && (*found)[0].is_string()) return {one(*found)};
  is_batch = true;
  std::vector<bert::Input> inputs;
  for (const json& value : *found) inputs.push_back(one(value));
  return inputs;
}

std::vector<std::vector<int64_t>> JsonObject::ids(std::string_view name) const {
  const json* const found = find(name);
  if (found == nullptr) fail(name, "is missing");
  if (!found->is_array()) wrong(name, *found, "an array of token ids, or an array of these");
  if (found->empty() || !(*found)[0].is_array()) return {ids_in(name, *found)};
  std::vector<std::vector<int64_t>> all;
  for (const json& value : *found) {
    if (!value.is_array()) wrong(name, value, "an array of arrays of token ids");
    all.push_back(ids_in(name, value));
  }
  return all;
}

std::vector<std::string> JsonObject::documents(std::string_view name) const {
  const json* const found = find(name);
  if (found == nullptr) fail(name, "is missing");
  constexpr const char* kExpected = "an array of strings, or of objects with a string \"text\"";
  if (!found->is_array()) wrong(name, *found, kExpected);
  std::vector<std::string> texts;
  for (const json& value : *found) {
    const bool has_text = value.is_object() && value.contains("text");
    texts.push_back(string_in(name, has_text ? value["text"] : value, kExpected));
  }
  return texts;
}

JsonObject JsonObject::object(std::string_view name, std::span<const Field> fields) const {
  const json* const found = find(name);
  return {found == nullptr ? kNothing : *found, fields, fmt::format("{}{}.", where_, name)};
}

}  // namespace bert::tools::serve

// SPDX-License-Identifier: Apache-2.0
#include "tools/serve/routes/openapi.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/console/json_text.h"
#include "tools/serve/routes/route.h"

namespace bert::tools::serve {
namespace {

using nlohmann::ordered_json;

ordered_json array_of(const ordered_json& items) { return {{"type", "array"}, {"items", items}}; }

// So that of several kinds of arrays, an empty one is of no more than one.
ordered_json some_of(const ordered_json& items) {
  return {{"type", "array"}, {"items", items}, {"minItems", 1}};
}

ordered_json schema_of(FieldType type) {
  const ordered_json string = {{"type", "string"}}, integer = {{"type", "integer"}, {"minimum", 0}};
  const ordered_json ids = array_of(integer);
  switch (type) {
    case FieldType::text:
      return string;
    case FieldType::flag:
      return {{"type", "boolean"}};
    case FieldType::whole:
      return integer;
    case FieldType::count:
      return {{"type", "integer"}, {"minimum", 1}};
    case FieldType::fraction:
      return {{"type", "number"}, {"minimum", 0}, {"maximum", 1}};
    case FieldType::texts:
      return array_of(string);
    case FieldType::some_text:
      return {{"oneOf", {string, array_of(string)}}};
    case FieldType::inputs:
      return {
          {"oneOf", {string, some_of(integer), some_of({{"oneOf", {string, some_of(integer)}}})}}};
    case FieldType::pairs: {
      ordered_json texts = some_of(string);
      texts["maxItems"] = 2;
      return {{"oneOf", {string, texts, some_of(texts)}}};
    }
    case FieldType::ids:
      return {{"oneOf", {ids, some_of(ids)}}};
    case FieldType::documents: {
      const ordered_json object = {{"type", "object"},
                                   {"properties", {{"text", string}}},
                                   {"required", ordered_json::array({"text"})}};
      return array_of({{"oneOf", {string, object}}});
    }
    case FieldType::object:
      return {{"type", "object"}};
    case FieldType::array:
      return {{"type", "array"}};
    case FieldType::any:
      break;
  }
  return ordered_json::object();
}

// null counts as absent.
void allow_null(ordered_json& schema) {
  if (schema.contains("oneOf")) schema["oneOf"].push_back({{"type", "null"}});
  if (schema.contains("type")) schema["type"] = {schema["type"], "null"};
}

ordered_json object_schema(std::span<const Field> fields) {
  ordered_json properties = ordered_json::object(), required = ordered_json::array();
  for (const Field& field : fields) {
    ordered_json schema = schema_of(field.type);
    if (!field.required) allow_null(schema);
    if (*field.about != '\0') schema["description"] = field.about;
    if (*field.standard != '\0') schema["default"] = ordered_json::parse(field.standard);
    properties[field.name] = schema;
    if (field.required) required.push_back(field.name);
  }
  ordered_json schema = {
      {"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = required;
  return schema;
}

ordered_json body_schema(const Route& route) {
  ordered_json schema = object_schema(route.fields);
  if (route.parameters.empty()) return schema;
  ordered_json parameters = object_schema(route.parameters)["properties"];
  for (const char* const beside : {"inputs", "model"}) parameters.erase(beside);
  schema["properties"]["parameters"]["properties"] = parameters;
  return schema;
}

// As spell_error() spells it.
ordered_json error_schema(Dialect dialect) {
  const ordered_json text = {{"type", "string"}};
  const auto object = [](const ordered_json& properties) -> ordered_json {
    return {{"type", "object"}, {"properties", properties}};
  };
  switch (dialect) {
    case Dialect::openai:
      return object({{"error", object({{"message", text},
                                       {"type", text},
                                       {"param", {{"type", {"string", "null"}}}},
                                       {"code", {{"type", {"string", "null"}}}}})}});
    case Dialect::cohere:
      return object({{"message", text}});
    case Dialect::jina:
      return object({{"detail", text}});
    case Dialect::inference:
      return object({{"error", text}});
    case Dialect::tei:
      break;
  }
  return object({{"error", text}, {"error_type", text}});
}

ordered_json operation_of(const Route& route) {
  ordered_json operation = {{"summary", route.summary}};
  if (route.path.find("{model}") != std::string_view::npos) {
    operation["parameters"] = {
        {{"name", "model"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}}};
  }
  if (!route.fields.empty()) {
    ordered_json content = {{"schema", body_schema(route)}};
    if (!route.example.empty()) content["example"] = ordered_json::parse(route.example);
    operation["requestBody"] = {{"required", true}, {"content", {{"application/json", content}}}};
  }
  const ordered_json error = {{"application/json", {{"schema", error_schema(route.dialect)}}}};
  operation["responses"] = {
      {"200", {{"description", "The answer"}}},
      {"default", {{"description", "An error, in words"}, {"content", error}}}};
  operation["security"] = ordered_json::array();
  if (!route.is_public) operation["security"].push_back({{"key", ordered_json::array()}});
  return operation;
}

ordered_json document() {
  ordered_json paths = ordered_json::object();
  for (const Route& route : all_routes()) {
    std::string method(route.method);
    for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
    paths[std::string(route.path)][method] = operation_of(route);
  }
  return {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "bert-serve"},
        {"version", bert::version()},
        {"description",
         "Before each path may stand /models/NAME, to name a model. Fields that are not listed "
         "are refused."}}},
      {"paths", paths},
      {"components", {{"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string type_in_words(const ordered_json& schema) {
  if (schema.contains("oneOf")) {
    std::string words;
    for (const auto& each : schema["oneOf"]) {
      if (each["type"] != "null") words += (words.empty() ? "" : " or ") + type_in_words(each);
    }
    return words;
  }
  if (!schema.contains("type")) return "any";
  const ordered_json type = schema["type"].is_array() ? schema["type"][0] : schema["type"];
  if (type == "array") {
    return schema.contains("items") ? "array of (" + type_in_words(schema["items"]) + ")" : "array";
  }
  return type.get<std::string>();
}

void append_fields(std::string& page, const ordered_json& schema) {
  const ordered_json required = schema.value("required", ordered_json::array());
  page +=
      "<table><tr><th scope=\"col\">field</th><th scope=\"col\">type</th><th "
      "scope=\"col\"></th></tr>";
  for (const auto& [name, field] : schema["properties"].items()) {
    const bool is_required = std::find(required.begin(), required.end(), name) != required.end();
    const std::string standard =
        field.contains("default") ? fmt::format(" Default: {}.", field["default"].dump()) : "";
    page += fmt::format("<tr><td><code>{}</code>{}</td><td>{}</td><td>{}{}</td></tr>", name,
                        is_required ? " (required)" : "", type_in_words(field),
                        escaped(field.value("description", "")), standard);
  }
  page += "</table>";
  if (!schema["properties"].contains("parameters")) return;
  const ordered_json& parameters = schema["properties"]["parameters"];
  if (!parameters.contains("properties")) return;
  page += "<p><code>parameters</code>:</p>";
  append_fields(page, parameters);
}

constexpr std::string_view kHead = R"(<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>bert-serve: routes</title><style>
body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:auto;padding:1rem}
h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;width:100%}
td,th{border:1px solid #8886;padding:.25rem .5rem;text-align:left;vertical-align:top}
pre{padding:.5rem;border:1px solid #8886;overflow:auto}</style></head><body><main>
<h1>bert-serve</h1>)";

}  // namespace

const std::string& openapi_document() {
  static const std::string text = [] {
    std::string out;
    append_json(out, document());
    return out;
  }();
  return text;
}

const std::string& documentation_page() {
  static const std::string page = [] {
    const ordered_json api = document();
    std::string out(kHead);
    out += fmt::format("<p>Version {}. {} Also as <a href=\"/openapi.json\">OpenAPI</a>.</p>",
                       api["info"]["version"].get<std::string>(),
                       escaped(api["info"]["description"].get<std::string>()));
    for (const auto& [path, methods] : api["paths"].items()) {
      for (const auto& [method, operation] : methods.items()) {
        std::string upper = method;
        for (char& c : upper) c = static_cast<char>(c - 'a' + 'A');
        out += fmt::format("<h2><code>{} {}</code></h2><p>{}.</p>", upper, path,
                           escaped(operation["summary"].get<std::string>()));
        if (!operation.contains("requestBody")) continue;
        const auto& content = operation["requestBody"]["content"]["application/json"];
        append_fields(out, content["schema"]);
        if (content.contains("example")) {
          out += fmt::format("<pre>{}</pre>", escaped(content["example"].dump()));
        }
      }
    }
    return out + "</main></body></html>";
  }();
  return page;
}

}  // namespace bert::tools::serve

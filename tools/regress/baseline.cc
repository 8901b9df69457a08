// SPDX-License-Identifier: Apache-2.0
#include "tools/regress/baseline.h"

#include <cstddef>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "tokenizer/files/files.h"
#include "tools/report/environment.h"

namespace bert::tools {
namespace {

using nlohmann::ordered_json;

// The fields of an object of the file; `place` is its name there, with a period, or "".
class Fields {
 public:
  Fields(const std::string& path, const ordered_json& object, std::string place)
      : path_(path), object_(object), place_(std::move(place)) {}

  const ordered_json& get(const char* name, bool (*fits)(const ordered_json&),
                          const char* expected) const {
    const auto found = object_.find(name);
    if (found != object_.end() && fits(*found)) return *found;
    throw std::runtime_error(fmt::format("{}: {}{} is {}, expected {}", path_, place_, name,
                                         found == object_.end() ? "missing" : found->type_name(),
                                         expected));
  }
  const ordered_json& object(const char* name) const {
    return get(
        name, [](const ordered_json& x) { return x.is_object(); }, "an object");
  }
  void text(const char* name) const {
    get(
        name, [](const ordered_json& x) { return x.is_string(); }, "a string");
  }
  void truth(const char* name) const {
    get(
        name, [](const ordered_json& x) { return x.is_boolean(); }, "true or false");
  }
  void number(const char* name) const {  // null: not finite
    get(
        name, [](const ordered_json& x) { return x.is_number() || x.is_null(); }, "a number");
  }

  // Calls use() with the fields of each element.
  template <typename Use>
  void for_each(const char* name, Use use) const {
    const ordered_json& all = get(
        name, [](const ordered_json& x) { return x.is_array(); }, "an array");
    for (size_t i = 0; i < all.size(); ++i) {
      const std::string place = fmt::format("{}{}[{}]", place_, name, i);
      if (!all[i].is_object()) {
        throw std::runtime_error(
            fmt::format("{}: {} is {}, expected an object", path_, place, all[i].type_name()));
      }
      use(Fields(path_, all[i], place + "."));
    }
  }

 private:
  const std::string& path_;
  const ordered_json& object_;
  std::string place_;
};

}  // namespace

ordered_json read_baseline(const std::string& path) {
  const std::string text = read_whole(path);
  ordered_json all = ordered_json::parse(text, nullptr, false);
  if (!all.is_object() || tokenizer::nests_too_deep(text) || !all.contains("tool") ||
      all["tool"] != "bert-regress") {
    throw std::runtime_error(path + ": is not what bert-regress --json writes");
  }
  const Fields fields(path, all, "");
  fields.truth("passed");
  fields.text("model");
  fields.text("reference");
  const ordered_json& environment = fields.object("environment");
  for (const auto& [name, value] : environment.items()) {
    if (!value.is_number()) Fields(path, environment, "environment.").text(name.c_str());
  }
  fields.for_each("files", [](const Fields& file) {
    file.text("name");
    file.text("sha256");
  });
  fields.for_each("stages", [](const Fields& stage) {
    stage.text("name");
    stage.truth("within");
    stage.number("largest_error");
    stage.number("mean_error");
  });
  Fields(path, fields.object("labels"), "labels.").number("changed");
  return all;
}

}  // namespace bert::tools

// SPDX-License-Identifier: Apache-2.0
#include "tools/regress/regress_report.h"

#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "tokenizer/unicode/printable.h"
#include "tools/console/counted.h"
#include "tools/report/environment.h"

namespace bert::tools {
namespace {

using nlohmann::ordered_json;

std::string ids_verdict(const ReferenceFile& reference) {
  const int64_t differing = reference.texts_differing();
  if (differing == 0) return "equal";
  return differing == 1 ? "1 text differs" : fmt::format("{} texts differ", differing);
}

class RegressJson {
 public:
  explicit RegressJson(const Regression& regression) : regression_(regression) {}

  ordered_json describe(const StageResult& stage) {
    ordered_json steps = ordered_json::array();
    for (const int64_t count : stage.histogram.steps()) steps.push_back(count);
    ordered_json worst = ordered_json::array();
    for (const Element& element : stage.worst) worst.push_back(describe(element, stage));
    return {{"name", stage.reference.expected->name},
            {"within", stage.is_within()},
            {"elements", stage.reference.expected->elements()},
            {"beyond", stage.out_of_tolerance},
            {"largest_error", rounded_number(stage.max_error)},
            {"largest_at", stage.describe(stage.max_error_at)},
            {"mean_error", rounded_number(stage.mean_error)},
            {"mean_expected", rounded_number(stage.mean_expected)},
            {"atol", rounded_number(stage.tolerance.atol)},
            {"rtol", rounded_number(stage.tolerance.rtol)},
            {"mean_tolerance", rounded_number(stage.tolerance.mean)},
            {"mean_allowed", rounded_number(stage.allowed_mean())},
            {"histogram",
             {{"first", ErrorHistogram::kFirst},
              {"zeros", stage.histogram.zeros()},
              {"not_finite", stage.histogram.not_finite()},
              {"steps", steps}}},
            {"worst", worst}};
  }

  ordered_json describe(const ChangedLabels& labels) {
    ordered_json changes = ordered_json::array();
    for (const ChangedLabels::Change& change : labels.changes()) {
      note_input(change.input);
      changes.push_back({{"input", change.input},
                         {"token", change.token},
                         {"expected", change.expected},
                         {"found", change.found},
                         {"margin", rounded_number(change.margin)}});
    }
    return {{"compared", labels.compared()}, {"changed", labels.changed()}, {"changes", changes}};
  }

  // The texts and tokens of the inputs that were named, by index.
  const ordered_json& inputs() const { return inputs_; }

 private:
  ordered_json describe(const Element& element, const StageResult& stage) {
    note_input(element.at.input);
    ordered_json all = {{"input", element.at.input}};
    if (stage.reference.by_token) all["token"] = element.at.token;
    all["column"] = element.at.column;
    all["found"] = rounded_number(element.found, 9);
    all["expected"] = rounded_number(element.expected, 9);
    all["error"] = rounded_number(element.error);
    all["rank"] = rounded_number(element.rank);
    return all;
  }

  void note_input(int64_t n) {
    const std::string key = fmt::format("{}", n);
    if (inputs_.contains(key)) return;
    const bert::Tokenizer& tokenizer = regression_.model().tokenizer();
    const ReferenceFile& reference = regression_.reference();
    const auto index = static_cast<size_t>(n);
    ordered_json texts = ordered_json::array(), tokens = ordered_json::array();
    if (index < reference.texts().size()) {
      const bert::Input& input = reference.texts()[index];
      texts.push_back(input.first);
      if (input.second) texts.push_back(*input.second);
    }
    const bert::Encoding& encoding = reference.encodings()[index];
    for (const int32_t id : encoding.ids) {
      try {
        tokens.push_back(tokenizer.token(id));
      } catch (const bert::Error&) {  // the table has a row for it, the vocabulary has no token
        tokens.push_back(fmt::format("{}", id));
      }
    }
    inputs_[key] = {{"texts", texts}, {"tokens", tokens}, {"segments", encoding.type_ids}};
  }

  const Regression& regression_;
  ordered_json inputs_ = ordered_json::object();
};

// XML has no way to write most control characters, nor U+FFFE and U+FFFF.
std::string xml_text(std::string_view text) {
  std::string escaped, shown = tokenizer::printable(text);
  for (const char* const none : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    for (size_t at; (at = shown.find(none)) != std::string::npos;) {
      shown.replace(at, 3, none[2] == '\xbe' ? "\\ufffe" : "\\uffff");
    }
  }
  for (const char c : shown) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// what: "failure" or "error"; message: "" if it passed.
std::string test_case(std::string_view directory, std::string_view name, std::string_view what,
                      std::string_view message) {
  const std::string open =
      fmt::format("  <testcase classname=\"{}\" name=\"{}\"", xml_text(directory), xml_text(name));
  if (message.empty()) return open + "/>\n";
  return fmt::format("{}>\n    <{} message=\"{}\"/>\n  </testcase>\n", open, what,
                     xml_text(message));
}

std::string test_suite(int64_t tests, int64_t failures, int64_t errors, std::string_view cases) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"bert-regress\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n{}"
      "</testsuite>\n",
      tests, failures, errors, cases);
}

}  // namespace

std::string regress_table(const Regression& regression) {
  const ReferenceFile& reference = regression.reference();
  std::string text = fmt::format("{:<12} {:>10} {:>14} {:>12}  largest at\n", "stage", "elements",
                                 "largest error", "mean error");
  if (reference.ids_compared() > 0) {
    text += fmt::format("{:<12} {:>10} {:>14} {:>12}  {}\n", "ids", reference.ids_compared(), "",
                        "", ids_verdict(reference));
  }
  for (const StageResult& stage : regression.stages()) {
    const models::StoredTensor& expected = *stage.reference.expected;
    text +=
        fmt::format("{:<12} {:>10} {:>14.3e} {:>12.3e}  {}\n", expected.name, expected.elements(),
                    stage.max_error, stage.mean_error, stage.describe(stage.max_error_at));
  }
  if (regression.difference().empty()) {
    text += counted(std::ssize(reference.encodings()), "input") +
            ": every stage within its tolerance\n";
  }
  return text;
}

ordered_json regress_json(const Regression& regression, const std::string& directory) {
  const ReferenceFile& reference = regression.reference();
  RegressJson json(regression);
  ordered_json stages = ordered_json::array();
  for (const StageResult& stage : regression.stages()) stages.push_back(json.describe(stage));
  const ordered_json labels = json.describe(regression.labels());
  ordered_json ids = nullptr;
  if (reference.ids_compared() > 0) {
    ids = {{"compared", reference.ids_compared()},
           {"texts_differing", reference.texts_differing()}};
  }
  const std::string difference = regression.difference();
  return {{"tool", "bert-regress"},
          {"passed", difference.empty()},
          {"difference", difference},
          {"model", directory},
          {"reference", reference.path()},
          {"inputs_compared", reference.encodings().size()},
          {"tokens", reference.starts().back()},
          {"environment", describe_environment(regression.model())},
          {"files", describe_files(directory, regression.model().info())},
          {"ids", ids},
          {"stages", stages},
          {"labels", labels},
          {"inputs", json.inputs()}};
}

std::string junit_xml(const Regression& regression, const std::string& directory) {
  const ReferenceFile& reference = regression.reference();
  int64_t tests = 0, failures = 0;
  std::string cases;
  const auto add = [&](std::string_view name, const std::string& difference) {
    ++tests;
    if (!difference.empty()) ++failures;
    cases += test_case(directory, name, "failure", difference);
  };
  if (reference.ids_compared() > 0) add("ids", reference.ids_difference());
  for (const StageResult& stage : regression.stages()) {
    add(stage.reference.expected->name, stage.difference());
  }
  return test_suite(tests, failures, 0, cases);
}

std::string junit_error(const std::string& directory, std::string_view message) {
  return test_suite(1, 0, 1, test_case(directory, "run", "error", message));
}

}  // namespace bert::tools

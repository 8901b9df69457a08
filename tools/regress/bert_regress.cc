// SPDX-License-Identifier: Apache-2.0
//
// bert-regress: runs the inputs of a reference file and compares every stage that the file holds.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "models/bert_infer.h"
#include "models/inspection.h"
#include "models/weights/safetensors.h"
#include "tools/console/command_line.h"
#include "tools/console/input_lines.h"
#include "tools/console/output_file.h"

namespace bert::tools {
namespace {

using models::DType;
using models::StoredTensor;

constexpr const char* kManual =
    R"(bert-regress: compare a model, stage by stage, with a reference made elsewhere

  bert-regress -m DIR REFERENCE [OPTIONS]

REFERENCE is a .safetensors file, as tools/reference/reference.py (NumPy, float64) and
tools/reference/export_reference.py (PyTorch) write it. T tokens in N inputs laid end to end, H hidden size,
C labels:
  ids [T], type_ids [T], starts [N+1]     integers; input i has the tokens starts[i] to starts[i+1]
  __metadata__ inputs                     JSON array of [first] or [first, second]
  embeddings, layer.0, layer.1 ... [T, H] any of these stages, F32 or F64
  pooler [N, H], logits [N, C] or of a head that answers for each token [T, C], embedding [N, F]
  next_sentence [N, 2] where logits are those of the vocabulary, [T, V]
Ids or texts may be left out. Where both are there, the texts must give the ids.

  -m, --model DIR    default: the demo model
      --precision P  auto (default), f32, bf16 or int8
      --atol X       a found value may differ from the expected one by
      --rtol X       atol + rtol * |expected|
      --mean X       the mean error of a stage may be X times the mean of |expected|
      --threads N    default: as many as this process may use
  -h, --help         this text
      --version      the version

Prints the largest and the mean absolute error of each stage, and names the first stage, in the
order of the forward pass, and its first element that is out of tolerance.

The default tolerance of each precision:
         atol  rtol   mean
  f32    1e-4  1e-4   1e-4   Rounding keeps a 12-layer model within about 1e-5 of float64, while a
                             mistake as small as the tanh form of GELU for the erf form is beyond.
  bf16   1     0.1    0.01   Here the mean says whether a model is right, and alone of embeddings and
  int8   1     0.1    0.05   layers: measured are 0.001 to 0.006 in bf16 and 0.004 to 0.025 in int8,
                             while a single value may be far off; of the logits of 5,001 pairs with
                             the demo model, up to 0.57 and 0.88.

Exit status: 0 all within the tolerance, 1 not so, or failure; 2 wrong usage.
)";

struct Tolerance {
  double atol, rtol, mean;
};
Tolerance default_tolerance(const std::string& precision, bool hidden_states) {
  if (precision == "f32") return {1e-4, 1e-4, 1e-4};
  return {hidden_states ? INFINITY : 1, 0.1, precision == "bf16" ? 0.01 : 0.05};
}

struct RegressOptions {
  std::optional<std::string> model;  // none: the demo model
  std::string reference;
  std::optional<double> atol, rtol, mean;
  bert::Options load;

  Tolerance tolerance(const std::string& precision, bool hidden_states) const {
    const Tolerance otherwise = default_tolerance(precision, hidden_states);
    // Who allows each element an error allows their mean the same.
    const double least = atol || rtol ? INFINITY : otherwise.mean;
    return {atol.value_or(otherwise.atol), rtol.value_or(otherwise.rtol), mean.value_or(least)};
  }
};

struct Place {
  int64_t input = 0, token = 0, column = 0;
};

// A stage of the reference, and what comparing it has found.
struct Stage {
  const StoredTensor* expected = nullptr;
  Tolerance tolerance = {};
  bool by_token = false;  // rows are tokens [T, columns], or else inputs [N, columns]
  bool seen = false;
  double largest = 0, sum = 0, expected_sum = 0;
  int64_t out = 0;  // elements out of tolerance
  Place largest_at = {}, first_at = {};
  double first_found = 0, first_expected = 0;

  std::string where(Place at) const {
    return by_token ? fmt::format("input {}, token {}, column {}", at.input, at.token, at.column)
                    : fmt::format("input {}, column {}", at.input, at.column);
  }
};

// Where a stage comes in the forward pass; none for a name that is no stage.
std::optional<int> stage_order(const std::string& name, int layers) {
  if (name == "embeddings") return -1;
  if (name == "pooler") return layers;
  if (name == "logits") return layers + 1;
  if (name == "next_sentence") return layers + 2;
  if (name == "embedding") return layers + 3;
  for (int i = 0; i < layers; ++i) {
    if (name == fmt::format("layer.{}", i)) return i;
  }
  return std::nullopt;
}

class Regression {
 public:
  Regression(const RegressOptions& options, const bert::Model& model)
      : options_(options), model_(model), file_(models::read_safetensors(options.reference)) {
    read_texts();
    read_ids();
    find_stages();
  }

  // Whether everything is within the tolerance. The report goes to standard output, the first
  // difference to standard error.
  bool run() {
    for (size_t n = 0; n < encodings_.size(); ++n) {
      try {
        models::run_traced(model_, encodings_[n],
                           [&](std::string_view name, const float* values, int64_t rows,
                               int64_t columns) { compare(name, n, values, rows, columns); });
      } catch (const bert::Error& error) {
        const std::string_view reason = reason_alone(error.what());
        if (reason.starts_with(options_.reference)) throw;  // it was compare() that failed
        fail(fmt::format("input {}: {}", n, reason));
      }
    }
    for (const auto& [order, stage] : stages_) {
      if (!stage.seen)
        fail(fmt::format("holds {}, which the model does not have", stage.expected->name));
    }
    return report();
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw std::runtime_error(fmt::format("{}: {}", options_.reference, reason));
  }

  void read_texts() {
    const auto inputs = file_.metadata().find("inputs");
    if (inputs == file_.metadata().end()) return;
    const auto bad = [&](const std::string& what) {
      fail("__metadata__ inputs " + what + ", expected a JSON array of [first] or [first, second]");
    };
    const auto texts = nlohmann::json::parse(inputs->second, nullptr, false);
    if (!texts.is_array() || texts.empty()) bad("is no array or an empty one");
    for (const auto& text : texts) {
      const bool pair = text.is_array() && text.size() == 2 && text[1].is_string();
      if (!text.is_array() || text.empty() || !text[0].is_string() || (text.size() > 1 && !pair)) {
        bad(fmt::format("holds something else at {}", encodings_.size()));
      }
      bert::Input input = {text[0].get<std::string>()};
      if (pair) input.second = text[1].get<std::string>();
      encodings_.push_back(model_.tokenizer().encode(input));
    }
  }

  const StoredTensor& integers(const char* name) const {
    const StoredTensor* tensor = file_.find(name);
    if (tensor == nullptr)
      fail(fmt::format("holds no {}, expected ids, type_ids and starts", name));
    const bool integral = tensor->dtype == DType::i64 || tensor->dtype == DType::i32 ||
                          tensor->dtype == DType::i16 || tensor->dtype == DType::u8;
    if (!integral || tensor->shape.size() != 1) {
      fail(fmt::format("{} is {} [{}], expected integers [T], or [N + 1] for starts", name,
                       models::dtype_name(tensor->dtype), fmt::join(tensor->shape, ", ")));
    }
    return *tensor;
  }

  void read_ids() {
    const bool texts = !encodings_.empty();
    if (!file_.find("ids") && !file_.find("type_ids") && !file_.find("starts")) {
      if (!texts) fail("holds neither ids nor __metadata__ inputs");
      return;
    }
    const StoredTensor &ids = integers("ids"), &types = integers("type_ids"),
                       &starts = integers("starts");
    const int64_t inputs = starts.elements() - 1;
    if (types.elements() != ids.elements()) {
      fail(fmt::format("type_ids has {} elements, expected {} as ids", types.elements(),
                       ids.elements()));
    }
    if (inputs < 1 || starts.at(0) != 0 ||
        starts.at(inputs) != static_cast<double>(ids.elements())) {
      fail(fmt::format("starts does not go from 0 to {}, the number of ids", ids.elements()));
    }
    if (texts && inputs != std::ssize(encodings_)) {
      fail(fmt::format("has {} texts, expected {} as starts says", encodings_.size(), inputs));
    }
    std::vector<bert::Encoding> given(static_cast<size_t>(inputs));
    for (int64_t n = 0; n < inputs; ++n) {
      if (!(starts.at(n) < starts.at(n + 1))) fail(fmt::format("starts does not grow after {}", n));
      for (auto t = static_cast<int64_t>(starts.at(n)); t < static_cast<int64_t>(starts.at(n + 1));
           ++t) {
        given[n].ids.push_back(id(ids, t));
        given[n].type_ids.push_back(id(types, t));
      }
    }
    if (texts) compare_ids(given);
    encodings_ = std::move(given);
  }

  int32_t id(const StoredTensor& tensor, int64_t i) const {
    const double value = tensor.at(i);
    if (value < 0 || value > std::numeric_limits<int32_t>::max()) {
      fail(fmt::format("{}[{}] is {}, expected 0 or more, and less than 2^31", tensor.name, i,
                       value));
    }
    return static_cast<int32_t>(value);
  }

  void compare_ids(const std::vector<bert::Encoding>& expected) {
    for (size_t n = 0; n < expected.size(); ++n) {
      const auto& [found, wanted] = std::pair(encodings_[n], expected[n]);
      ids_compared_ += std::ssize(wanted.ids);
      if (found.ids == wanted.ids && found.type_ids == wanted.type_ids) continue;
      ++texts_out_;
      if (!ids_difference_.empty()) continue;
      size_t t = 0;
      const size_t common = std::min(found.ids.size(), wanted.ids.size());
      while (t < common && found.ids[t] == wanted.ids[t] && found.type_ids[t] == wanted.type_ids[t])
        ++t;
      ids_difference_ = fmt::format("ids differ first, at input {}", n);
      ids_difference_ +=
          t == common
              ? fmt::format(": found {} tokens, expected {}", found.ids.size(), wanted.ids.size())
              : fmt::format(", token {}: found id {} of type {}, expected {} of type {}", t,
                            found.ids[t], found.type_ids[t], wanted.ids[t], wanted.type_ids[t]);
    }
  }

  void find_stages() {
    for (const bert::Encoding& encoding : encodings_) {
      starts_.push_back(starts_.back() + std::ssize(encoding.ids));
    }
    for (const StoredTensor& tensor : file_.tensors()) {
      const std::string& name = tensor.name;
      if (name == "ids" || name == "type_ids" || name == "starts") continue;
      const auto order = stage_order(name, model_.info().layers);
      if (!order) {
        fail(fmt::format(
            "holds {}, expected ids, type_ids, starts, embeddings, layer.0 to layer.{}, "
            "pooler, logits, next_sentence or embedding",
            name, model_.info().layers - 1));
      }
      if (tensor.dtype != DType::f32 && tensor.dtype != DType::f64) {
        fail(fmt::format("{} is {}, expected F32 or F64", name, models::dtype_name(tensor.dtype)));
      }
      const bool hidden_states = *order < model_.info().layers;
      const bool by_token = hidden_states || (name == "logits" && model_.info().has_token_logits);
      const int64_t rows = by_token ? starts_.back() : std::ssize(encodings_);
      if (tensor.shape.size() != 2 || tensor.shape[0] != rows) {
        fail(fmt::format("{} is [{}], expected [{}, columns], a row for each {}", name,
                         fmt::join(tensor.shape, ", "), rows, by_token ? "token" : "input"));
      }
      Stage& stage = stages_[*order];
      stage.expected = &tensor;
      stage.tolerance = options_.tolerance(model_.info().precision, hidden_states);
      stage.by_token = by_token;
    }
    if (stages_.empty() && ids_compared_ == 0) fail("holds nothing to compare, expected a stage");
  }

  void compare(std::string_view name, size_t n, const float* values, int64_t rows,
               int64_t columns) {
    const auto order = stage_order(std::string(name), model_.info().layers);
    const auto found = order ? stages_.find(*order) : stages_.end();
    if (found == stages_.end()) return;
    Stage& stage = found->second;
    const StoredTensor& expected = *stage.expected;
    if (expected.shape[1] != columns) {
      fail(fmt::format("{} has {} columns, expected {} as the model", name, expected.shape[1],
                       columns));
    }
    stage.seen = true;
    const int64_t row = stage.by_token ? starts_[n] : static_cast<int64_t>(n);
    for (int64_t i = 0; i < rows * columns; ++i) {
      const Place place = {static_cast<int64_t>(n), i / columns, i % columns};
      compare_element(stage, values[i], expected.at(row * columns + i), place);
    }
  }

  static void compare_element(Stage& stage, double found, double expected, Place place) {
    const bool finite = std::isfinite(found) && std::isfinite(expected);
    const double error = finite ? std::abs(found - expected) : INFINITY;
    stage.sum += error;
    stage.expected_sum += std::abs(expected);
    if (error > stage.largest) {
      stage.largest = error;
      stage.largest_at = place;
    }
    if (finite && error <= stage.tolerance.atol + stage.tolerance.rtol * std::abs(expected)) return;
    if (stage.out++ > 0) return;
    stage.first_at = place;
    stage.first_found = found;
    stage.first_expected = expected;
  }

  bool report() const {
    OutputFile out("-");
    out.append(fmt::format("{:<12} {:>10} {:>14} {:>12}  largest at\n", "stage", "elements",
                           "largest error", "mean error"));
    if (ids_compared_ > 0) {
      out.append(
          fmt::format("{:<12} {:>10} {:>14} {:>12}  {}\n", "ids", ids_compared_, "", "",
                      texts_out_ == 0 ? "equal" : fmt::format("{} texts differ", texts_out_)));
    }
    std::string difference = ids_difference_;
    for (const auto& [order, stage] : stages_) {
      const StoredTensor& expected = *stage.expected;
      out.append(fmt::format("{:<12} {:>10} {:>14.3e} {:>12.3e}  {}\n", expected.name,
                             expected.elements(), stage.largest,
                             stage.sum / static_cast<double>(expected.elements()),
                             stage.where(stage.largest_at)));
      if (!difference.empty()) continue;
      const Tolerance& tolerance = stage.tolerance;
      if (stage.sum > tolerance.mean * stage.expected_sum) {
        difference = fmt::format("{} differs by {:.3g} of its mean, expected at most {:g}",
                                 expected.name, stage.sum / stage.expected_sum, tolerance.mean);
      }
      if (stage.out == 0) continue;
      difference = fmt::format(
          "{} differs first, at {}: found {:.9g}, expected {:.9g} ({} of {} elements "
          "beyond {:g} + {:g} |expected|)",
          expected.name, stage.where(stage.first_at), stage.first_found, stage.first_expected,
          stage.out, expected.elements(), tolerance.atol, tolerance.rtol);
    }
    if (difference.empty()) {
      out.append(fmt::format("{} inputs: every stage within its tolerance\n", encodings_.size()));
    }
    try {
      out.close();
    } catch (const ClosedPipe&) {  // nobody reads the table, but the exit status tells
    }
    if (!difference.empty()) spdlog::error("{}: {}", options_.reference, difference);
    return difference.empty();
  }

  const RegressOptions& options_;
  const bert::Model& model_;
  models::WeightFile file_;
  std::vector<bert::Encoding> encodings_;  // [N]
  std::vector<int64_t> starts_ = {0};      // [N + 1]
  std::map<int, Stage> stages_;            // in the order of the forward pass
  int64_t ids_compared_ = 0, texts_out_ = 0;
  std::string ids_difference_;
};

void declare(CLI::App& app, RegressOptions& options) {
  app.add_option("-m,--model", options.model);
  app.add_option("REFERENCE", options.reference)->required();
  app.add_option("--atol", options.atol)->check(from_0());
  app.add_option("--rtol", options.rtol)->check(from_0());
  app.add_option("--mean", options.mean)->check(from_0());
  add_precision(app, options.load.precision);
  app.add_option("--threads", options.load.threads)->transform(threads());
}

int regress(const RegressOptions& options) {
  const std::string directory = options.model ? *options.model : bert::demo_model();
  const bert::Model model = bert::Model::load(directory, options.load);
  for (const std::string& note : model.info().notes) spdlog::info("note: {}", note);
  return Regression(options, model).run() ? 0 : 1;
}

}  // namespace
}  // namespace bert::tools

int main(int argc, char** argv) {
  namespace tools = bert::tools;
  tools::RegressOptions options;
  return tools::run_tool(
      "bert-regress", tools::kManual, argc, argv,
      [&](CLI::App& app) { tools::declare(app, options); },
      [&] { return tools::regress(options); });
}

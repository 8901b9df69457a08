// SPDX-License-Identifier: Apache-2.0
//
// bert-regress: runs the inputs of a reference file and compares every stage that the file holds.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "models/bert_infer.h"
#include "models/inspection.h"
#include "tools/console/command_line.h"
#include "tools/console/lines/input_lines.h"
#include "tools/console/output_file.h"
#include "tools/regress/reference_file.h"

namespace bert::tools {
namespace {

using models::StoredTensor;

constexpr const char* kManual =
    R"(bert-regress: compare a model, stage by stage, with a reference made elsewhere

  bert-regress -m DIR REFERENCE [OPTIONS]

REFERENCE is a .safetensors file, as tools/reference/reference.py (NumPy, float64) and
tools/reference/export_reference.py (PyTorch) write it. T tokens in N inputs laid end to end,
H hidden size, C labels:
  ids [T], type_ids [T], starts [N+1]     integers; input i owns tokens starts[i] to starts[i+1]
  __metadata__ inputs                     JSON array of [first] or [first, second]
  embeddings, layer.0, layer.1 ... [T, H] any of these stages, F32 or F64
  pooler [N, H], logits [N, C] ([T, C] if the head answers for each token), embedding [N, F]
  next_sentence [N, 2], if the logits are over the vocabulary, [T, V]
  sparse [N, V], vectors [T, D]           of models for search
  unattended [N]                          if given: so many tokens at an input's end nobody attends to
Either ids or texts may be left out. If both are there, the texts must tokenize to the ids.

  -m, --model DIR    default: the demo model
      --precision P  auto (default), f32, bf16 or int8
      --backend B    what multiplies: auto (default), onednn or panels
      --atol X       a found value may differ from the expected one by
      --rtol X       atol + rtol * |expected|
      --mean X       the mean error of a stage may be X times the mean of |expected|
      --threads N    default: as many as the process may use
  -h, --help         this text
      --version      versions of this and of oneDNN, backend, instruction set

Prints the largest and the mean absolute error of each stage, and names the first stage (in the
order of the forward pass) and its first element that are out of tolerance.

The default tolerance of each precision:
         atol  rtol   mean
  f32    1e-4  1e-4   1e-4   Rounding keeps a 12-layer model within about 1e-5 of float64; a mistake
                             as small as the tanh form of GELU instead of the erf form exceeds it.
  bf16   1     0.1    0.01   Here the mean tells whether a model is right; for embeddings and layers
  int8   1     0.1    0.05   it alone is checked. Measured: 0.001 to 0.006 in bf16 and 0.004 to
                             0.025 in int8. Single values may be far off: logits by up to 0.57
                             and 0.88, over 5,001 pairs with the demo model. Where int8's inputs
                             have 7 bits (AVX2 without VNNI), twice as much: --mean 0.1.

Exit status: 0 all within the tolerance, 1 something is not, or a failure; 2 wrong usage.
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
    const Tolerance defaults = default_tolerance(precision, hidden_states);
    // An error that is allowed for each element is allowed for their mean.
    const double default_mean = atol || rtol ? INFINITY : defaults.mean;
    return {atol.value_or(defaults.atol), rtol.value_or(defaults.rtol),
            mean.value_or(default_mean)};
  }
};

struct Place {
  int64_t input = 0, token = 0, column = 0;
};

// A stage of the reference, and the result of the comparison.
struct Stage {
  ReferenceStage reference;
  Tolerance tolerance;
  bool seen = false;
  double max_error = 0, error_sum = 0, expected_sum = 0;
  int64_t out_of_tolerance = 0;  // elements
  Place max_error_at = {}, first_at = {};
  double first_found = 0, first_expected = 0;

  std::string describe(Place at) const {
    return reference.by_token
               ? fmt::format("input {}, token {}, column {}", at.input, at.token, at.column)
               : fmt::format("input {}, column {}", at.input, at.column);
  }
};

class Regression {
 public:
  Regression(const RegressOptions& options, const bert::Model& model)
      : model_(model), reference_(options.reference, model) {
    for (const ReferenceStage& stage : reference_.stages()) {
      const Tolerance tolerance = options.tolerance(model.info().precision, stage.hidden_states);
      stages_.push_back({.reference = stage, .tolerance = tolerance});
    }
  }

  // Returns whether everything is within the tolerance. Prints the report on standard output and
  // the first difference on standard error.
  bool run() {
    for (size_t n = 0; n < reference_.encodings().size(); ++n) {
      try {
        models::run_traced(model_, reference_.encodings()[n],
                           [&](std::string_view name, const float* values, int64_t rows,
                               int64_t columns) { compare(name, n, values, rows, columns); });
      } catch (const bert::Error& error) {
        const std::string_view reason = reason_alone(error.what());
        if (reason.starts_with(reference_.path())) throw;  // thrown by compare()
        reference_.fail(fmt::format("input {}: {}", n, reason));
      }
    }
    for (const Stage& stage : stages_) {
      if (stage.seen) continue;
      reference_.fail(fmt::format("contains {}, which the model does not have",
                                  stage.reference.expected->name));
    }
    return report();
  }

 private:
  void compare(std::string_view name, size_t n, const float* values, int64_t rows,
               int64_t columns) {
    const auto order = stage_order(std::string(name), model_.info().layers);
    const auto found = std::ranges::find_if(
        stages_, [&](const Stage& stage) { return stage.reference.order == order; });
    if (found == stages_.end()) return;
    Stage& stage = *found;
    const StoredTensor& expected = *stage.reference.expected;
    if (expected.shape[1] != columns) {
      reference_.fail(fmt::format("{} has {} columns, but the model's has {}", name,
                                  expected.shape[1], columns));
    }
    stage.seen = true;
    const int64_t row = stage.reference.by_token ? reference_.starts()[n] : static_cast<int64_t>(n);
    for (int64_t i = 0; i < rows * columns; ++i) {
      const Place place = {static_cast<int64_t>(n), i / columns, i % columns};
      compare_element(stage, values[i], expected.at(row * columns + i), place);
    }
  }

  static void compare_element(Stage& stage, double found, double expected, Place place) {
    const bool finite = std::isfinite(found) && std::isfinite(expected);
    const double error = finite ? std::abs(found - expected) : INFINITY;
    stage.error_sum += error;
    stage.expected_sum += std::abs(expected);
    if (error > stage.max_error) {
      stage.max_error = error;
      stage.max_error_at = place;
    }
    if (finite && error <= stage.tolerance.atol + stage.tolerance.rtol * std::abs(expected)) return;
    if (stage.out_of_tolerance++ > 0) return;
    stage.first_at = place;
    stage.first_found = found;
    stage.first_expected = expected;
  }

  bool report() const {
    OutputFile out("-");
    out.append(fmt::format("{:<12} {:>10} {:>14} {:>12}  largest at\n", "stage", "elements",
                           "largest error", "mean error"));
    if (reference_.ids_compared() > 0) {
      const int64_t differing = reference_.texts_differing();
      out.append(fmt::format("{:<12} {:>10} {:>14} {:>12}  {}\n", "ids", reference_.ids_compared(),
                             "", "",
                             differing == 0 ? "equal" : fmt::format("{} texts differ", differing)));
    }
    std::string difference = reference_.ids_difference();
    for (const Stage& stage : stages_) {
      const StoredTensor& expected = *stage.reference.expected;
      out.append(fmt::format("{:<12} {:>10} {:>14.3e} {:>12.3e}  {}\n", expected.name,
                             expected.elements(), stage.max_error,
                             stage.error_sum / static_cast<double>(expected.elements()),
                             stage.describe(stage.max_error_at)));
      if (!difference.empty()) continue;
      const Tolerance& tolerance = stage.tolerance;
      if (stage.error_sum > tolerance.mean * stage.expected_sum) {
        difference =
            fmt::format("{} differs by {:.3g} of its mean, expected at most {:g}", expected.name,
                        stage.error_sum / stage.expected_sum, tolerance.mean);
      }
      if (stage.out_of_tolerance == 0) continue;
      difference = fmt::format(
          "{} differs first, at {}: found {:.9g}, expected {:.9g} ({} of {} elements "
          "beyond {:g} + {:g} |expected|)",
          expected.name, stage.describe(stage.first_at), stage.first_found, stage.first_expected,
          stage.out_of_tolerance, expected.elements(), tolerance.atol, tolerance.rtol);
    }
    if (difference.empty()) {
      out.append(fmt::format("{} inputs: every stage within its tolerance\n",
                             reference_.encodings().size()));
    }
    try {
      out.close();
    } catch (const ClosedPipe&) {  // nobody reads the table, but the exit status still counts
    }
    if (!difference.empty()) spdlog::error("{}: {}", reference_.path(), difference);
    return difference.empty();
  }

  const bert::Model& model_;
  const ReferenceFile reference_;
  std::vector<Stage> stages_;  // in the order of the forward pass
};

void declare(CLI::App& app, RegressOptions& options) {
  app.add_option("-m,--model", options.model)->type_name("DIR");
  app.add_option("REFERENCE", options.reference)->required()->type_name("FILE");
  app.add_option("--atol", options.atol)->check(non_negative());
  app.add_option("--rtol", options.rtol)->check(non_negative());
  app.add_option("--mean", options.mean)->check(non_negative());
  add_precision(app, options.load.precision);
  add_backend(app, options.load.backend);
  app.add_option("--threads", options.load.threads)->transform(thread_count());
}

int regress(const RegressOptions& options) {
  const std::string directory = model_directory(options.model);
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

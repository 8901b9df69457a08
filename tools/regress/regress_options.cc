// SPDX-License-Identifier: Apache-2.0
#include "tools/regress/regress_options.h"

#include <cmath>

namespace bert::tools {
namespace {

Tolerance default_tolerance(const std::string& precision, const ReferenceStage& stage) {
  if (precision == "f32") return {1e-4, 1e-4, 1e-4, 0};
  return {stage.hidden_states ? INFINITY : 1, 0.1, precision == "bf16" ? 0.01 : 0.05, 0};
}

}  // namespace

const char* const kRegressManual =
    R"(bert-regress: compare a model, stage by stage, with a reference made elsewhere

  bert-regress -m DIR REFERENCE [OPTIONS]

REFERENCE is a .safetensors file, as tools/reference/reference.py (NumPy, float64) and
tools/reference/export_reference.py (PyTorch) write it. T tokens in N inputs laid end to end,
H hidden size, C labels:
  ids [T], type_ids [T], starts [N+1]     integers; input i owns tokens starts[i] to starts[i+1]
  __metadata__ inputs                     JSON array of [first] or [first, second]
  __metadata__ max_length                 tokens to which texts were truncated, if not the model's
  embeddings, layer.0, layer.1 ... [T, H] any of these stages, F32 or F64
  pooler [N, H], logits [N, C] ([T, C] if the head answers for each token), embedding [N, F]
  next_sentence [N, 2], if the logits are over the vocabulary, [T, V]
  sparse [N, V], vectors [T, D]           of models for search
  unattended [N]                          number of trailing tokens that no token attends to
Either ids or texts may be left out. If both are there, the texts must tokenize to the ids.

  -m, --model DIR    default: the demo model
      --precision P  auto (default), f32, bf16 or int8
      --backend B    matrix products by auto (default), onednn or panels
      --adapter NAME a LoRA adapter, a name in the model's files or a folder, as for bert-infer
      --atol X       a found value may differ from the expected one by
      --rtol X       atol + rtol * |expected|
      --mean X       the mean error of a stage may be X times the mean of |expected|; without this
                     option, in f32 also atol. --atol or --rtol without --mean drops this check,
                     except where single elements are not checked
      --threads N    default: as many as the process may use
      --json         all results as one JSON object instead of the table
      --html FILE    the same as a page: the errors by stage in a table and a chart, their
                     distribution, the worst elements with their texts, labels that changed
      --junit FILE   the same as JUnit's XML, a test case for each stage; - here and for --html is
                     standard output, instead of the table
      --baseline F   what --json wrote before: --json and --html say what changed since
  -h, --help         this text
      --version      versions of this and of oneDNN, backend, instruction set

Prints the largest and the mean absolute error of each stage, and names the first stage (in the
order of the forward pass) and its first element that are out of tolerance. The files are written
whether it passes or not, the page with the environment and the SHA-256 of the model's files; after
a failure or a signal, the one of --junit holds a test case with the error.

The default tolerance of each precision:
         atol  rtol   mean
  f32    1e-4  1e-4   1e-4   Rounding keeps a 12-layer model within about 1e-5 of float64; a mistake
                             as small as the tanh form of GELU instead of the erf form exceeds it.
  bf16   1     0.1    0.01   Here the mean tells whether a model is right; for embeddings and layers
  int8   1     0.1    0.05   it alone is checked. Measured: 0.001 to 0.006 in bf16 and 0.004 to
                             0.025 in int8. Single values may be far off: logits by up to 0.6
                             and 0.9, over 5,001 pairs with the demo model. Where activations
                             have 7 bits (AVX2 without VNNI), twice as much: --mean 0.1.

Exit status: 0 all within the tolerance, 1 something is not, or a failure; 2 wrong usage.
)";

Tolerance RegressOptions::tolerance(const std::string& precision,
                                    const ReferenceStage& stage) const {
  Tolerance all = default_tolerance(precision, stage);
  all.atol = atol.value_or(all.atol);
  all.rtol = rtol.value_or(all.rtol);
  // An error that is allowed for each element is allowed for their mean. Where any is allowed,
  // nothing but the mean would be left to check.
  if ((atol || rtol) && std::isfinite(all.atol)) all.mean = INFINITY;
  all.mean = mean.value_or(all.mean);
  if (precision == "f32" && !mean) all.least_mean = all.atol;
  return all;
}

}  // namespace bert::tools

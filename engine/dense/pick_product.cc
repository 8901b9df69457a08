// SPDX-License-Identifier: Apache-2.0
//
// The one place that decides what multiplies.
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "engine/dense/onednn/onednn.h"
#include "engine/dense/product.h"
#include "engine/kernels/pick_kernels.h"
#include "engine/runtime.h"

namespace bert::engine {
namespace {

// What processors can do, each level more than the one before. baseline: SSE4.1 and AArch64, for
// which our own kernels are not tuned.
enum class Level { baseline, avx2, avx512, amx };
const char* name_of(Level level) {
  constexpr const char* kNames[] = {"without AVX2", "with AVX2", "with AVX-512", "with AMX"};
  return kNames[static_cast<int>(level)];
}

Level level_of_this_machine() {
  if (can_use(OneDnnLevel::amx)) return Level::amx;
  if (can_use(OneDnnLevel::avx512)) return Level::avx512;
  return can_use(OneDnnLevel::avx2) ? Level::avx2 : Level::baseline;
}

// Whether oneDNN is the default: where its products were measured within 3 % of our panels' speed
// or faster over five shapes of BERT-base. With AVX2 and AVX-512 (Zen 5), the micro-kernels of
// oneDNN 3.7 take 1.05 to 1.15 times as long for 128 tokens and more, and 1.7 times for 16, where a
// panel of weights must be fetched while another is multiplied. At Level::baseline, for which no
// panels are tuned, oneDNN is the default wherever it has more than reference code.
constexpr bool kOneDnnIsDefault[][3] = {
    // f32, bf16, int8
    {true, true, true},     // baseline
    {false, false, false},  // AVX2
    {false, false, false},  // AVX-512
    {false, false, false},  // AMX
};

struct Choice {
  const Product& product;
  std::string reason;
};

Choice choose(Precision precision, Backend wanted) {
  const Product& panels = panel_product(precision, best_kernels());
  const Product* const micro_kernels = micro_kernel_product(precision);
  const Product* const onednn = micro_kernels ? micro_kernels : matmul_product(precision);
  if (wanted == Backend::panels) return {panels, "as asked"};
  if (wanted == Backend::onednn) {
    if (onednn) return {*onednn, "as asked"};
    throw std::runtime_error(
        fmt::format("backend onednn: oneDNN {} has no fast {} product for this processor, expected "
                    "backend auto or panels",
                    onednn_version(), name_of(precision)));
  }
  if (!onednn) return {panels, fmt::format("auto: oneDNN {} has no fast one", onednn_version())};
  const Level level = level_of_this_machine();
  const bool is_default = kOneDnnIsDefault[static_cast<int>(level)][static_cast<int>(precision)];
  return {is_default ? *onednn : panels, fmt::format("auto: the default {}", name_of(level))};
}

}  // namespace

const char* name_of(Precision precision) {
  return precision == Precision::f32 ? "f32" : precision == Precision::bf16 ? "bf16" : "int8";
}

const Product& pick_product(Precision precision, Backend wanted) {
  const Choice choice = choose(precision, wanted);
  log().info("{} products: {} ({})", name_of(precision), choice.product.name(), choice.reason);
  return choice.product;
}

std::string describe_products() {
  std::string backends;
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::int8}) {
    const bool onednn = choose(precision, Backend::automatic).product.backend == Backend::onednn;
    backends += fmt::format("{}{} {}", backends.empty() ? "" : ", ", name_of(precision),
                            onednn ? "onednn" : "panels");
  }
  return fmt::format("oneDNN {}\nbackend: {}\ninstruction set: {}{}\n", onednn_version(), backends,
                     best_kernels().name, can_use(OneDnnLevel::amx) ? ", amx" : "");
}

}  // namespace bert::engine

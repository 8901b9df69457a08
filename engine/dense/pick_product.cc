// SPDX-License-Identifier: Apache-2.0
//
// The one place that decides what multiplies, and how many rows at a time.
#include <limits>
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

// Whether our panels are tuned for this processor: then they are the default, as no oneDNN product
// was measured within 3 % of their speed over five shapes of BERT-base. With AVX2 and AVX-512 (Zen
// 5), the micro-kernels of oneDNN 3.7 take 1.05 to 1.15 times as long for 128 tokens and more, and
// 1.7 times for 16, where a panel of weights must be fetched while another is multiplied. With AMX
// (Emerald Rapids), they take 1.2 to 1.6 times as long in bf16 and int8, and the matmul of 2.6 1.4
// to 2.1 times. Other processors use oneDNN wherever it has more than reference code.
bool are_panels_tuned() { return can_use(OneDnnLevel::avx2); }

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
  if (are_panels_tuned()) return {panels, "auto: the default with AVX2 and more"};
  return {*onednn, "auto: the default without AVX2"};
}

}  // namespace

const char* name_of(Precision precision) {
  return precision == Precision::f32 ? "f32" : precision == Precision::bf16 ? "bf16" : "int8";
}

// Fast products wait for memory, so that it pays to keep wide outputs in the cache until they are
// read again (8x128 tokens, int8: -8 % on Zen 5 for those of feed-forward, and with tiles another
// -7 % for those that attention reads; f32 on tiles: -10 %); otherwise reading the weights again
// costs more than that saves.
int64_t Product::rows_at_a_time(int threads) const {
  if (precision == Precision::f32 && panel.interleaved_rows > 0) {
    return 480 * int64_t{threads};  // interleaved rows take as much memory again
  }
  const bool fast = precision == Precision::int8 || panel.tiles;
  if (!fast) return std::numeric_limits<int64_t>::max();
  return (second_level_cache() < 2 << 20 ? 96 : panel.tiles ? 256 : 128) * int64_t{threads};
}

// With slices, and so twice as many rows at a time, weights are read half as often. On Granite
// Rapids, BERT-base takes 3 to 9 % less time in f32 and 12 % less in bf16 for 8x128 tokens (int8,
// which scales whole rows, 5 to 9 % with as many rows), and 4 % more for 16 tokens.
int64_t Product::slices(int64_t columns) const {
  if (!panel.tiles || precision == Precision::int8) return 1;
  int64_t count = std::max<int64_t>(1, columns / (panel.split ? 768 : 1536));
  while (count > 1 && columns % (count * panel.columns) != 0) --count;  // in whole panels and tiles
  return count;
}

const Product& pick_product(Precision precision, Backend wanted) {
  const Choice choice = choose(precision, wanted);
  log().info("{} products: {} ({})", name_of(precision), choice.product.name(), choice.reason);
  return choice.product;
}

const Product& pick_layer_product(Precision precision, Backend wanted) {
  const Product& product = pick_product(precision, wanted);
  if (precision != Precision::f32 || product.backend != Backend::panels) return product;
  const Product* const split = split_product(best_kernels());
  if (!split) return product;
  log().info("f32 products of layers: {}", split->name());
  return *split;
}

std::string describe_products() {
  std::string backends;
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::int8}) {
    const bool onednn = choose(precision, Backend::automatic).product.backend == Backend::onednn;
    backends += fmt::format("{}{} {}", backends.empty() ? "" : ", ", name_of(precision),
                            onednn ? "onednn" : "panels");
  }
  return fmt::format("oneDNN {}\nbackend: {}\ninstruction set: {}\n", onednn_version(), backends,
                     best_kernels().name);
}

}  // namespace bert::engine

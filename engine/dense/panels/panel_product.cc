// SPDX-License-Identifier: Apache-2.0
//
// Products by our own kernels (engine/kernels/matmul/matmul_kernels.cc).
#include <deque>
#include <mutex>

#include <fmt/format.h>

#include "engine/dense/panels/parts.h"
#include "engine/dense/product.h"

namespace bert::engine {
namespace {

class PanelProduct final : public Product {
 public:
  PanelProduct(Precision in, const KernelTable& kernels)
      : Product(Backend::panels, in,
                format(kernels, in == Precision::f32 ? kernels.panels : kernels.narrow_panels)),
        kernels_(kernels),
        matmul_(in == Precision::f32    ? kernels.matmul_f32
                : in == Precision::bf16 ? kernels.matmul_bf16
                                        : kernels.matmul_int8) {}
  const KernelTable& kernels() const { return kernels_; }
  void multiply(const MatmulTask& task) const override {
    if (precision == Precision::int8 || panel.tiles) return matmul_(task);
    multiply_in_parts(matmul_, task, panel);
  }
  const Product* halved(int64_t inputs) const override {
    return precision == Precision::f32 ? halved_product(*this, kernels_, inputs) : nullptr;
  }
  std::string name() const override { return fmt::format("panels for {}", kernels_.name); }

 private:
  static PanelFormat format(const KernelTable& kernels, const KernelTable::Panels& panels) {
    return {.columns = panels.columns,
            .word_step = panels.word_step,
            .row_step = panels.row_step,
            .tiles = panels.word_step > 1,
            .interleaved_rows = kernels.interleaved_rows,
            .interleave = kernels.interleave,
            .int8 = kernels.int8};
  }

  const KernelTable& kernels_;
  const Matmul matmul_;
};

}  // namespace

const Product& panel_product(Precision precision, const KernelTable& kernels) {
  static std::mutex mutex;
  static auto& made = *new std::deque<PanelProduct>;  // also used by threads at exit
  const std::lock_guard lock(mutex);
  for (const PanelProduct& product : made) {
    if (product.precision == precision && &product.kernels() == &kernels) return product;
  }
  return made.emplace_back(precision, kernels);
}

}  // namespace bert::engine

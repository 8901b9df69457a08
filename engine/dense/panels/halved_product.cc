// SPDX-License-Identifier: Apache-2.0
//
// Products in f32 with weights that are bf16, as many checkpoints store them: their panels take
// half the memory (engine/kernels/matmul/halved_panels.h).
#include <deque>
#include <mutex>

#include "engine/dense/panels/parts.h"
#include "engine/dense/product.h"

namespace bert::engine {
namespace {

class HalvedProduct final : public Product {
 public:
  HalvedProduct(const Product& of, const KernelTable& kernels)
      : Product(of.backend, of.precision, halve(of.panel)),
        of_(of),
        matmul_(kernels.matmul_halved) {}
  const Product& of() const { return of_; }
  void multiply(const MatmulTask& task) const override {
    panel.split ? matmul_(task) : multiply_in_parts(matmul_, task, panel);
  }
  std::string name() const override { return of_.name() + ", of bf16 weights"; }

 private:
  static PanelFormat halve(PanelFormat format) {
    format.halved = true;
    format.word_step = kPartStep;
    return format;
  }

  const Product& of_;
  const Matmul matmul_;
};

}  // namespace

const Product* halved_product(const Product& of, const KernelTable& kernels, int64_t inputs) {
  const bool has_kernel = of.panel.split || !kernels.matmul_split;
  if (!has_kernel || inputs % kPartStep != 0) return nullptr;
  static std::mutex mutex;
  static auto& made = *new std::deque<HalvedProduct>;  // also used by threads at exit
  const std::lock_guard lock(mutex);
  for (const HalvedProduct& product : made) {
    if (&product.of() == &of) return &product;
  }
  return &made.emplace_back(of, kernels);
}

}  // namespace bert::engine

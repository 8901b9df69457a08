// SPDX-License-Identifier: Apache-2.0
//
// Products in f32 by matrix tiles that multiply bf16 (engine/kernels/matmul/split_panels.h).
#include <deque>
#include <mutex>

#include <fmt/format.h>

#include "engine/dense/product.h"

namespace bert::engine {
namespace {

class SplitProduct final : public Product {
 public:
  explicit SplitProduct(const KernelTable& kernels)
      : Product(Backend::panels, Precision::f32,
                {.columns = kernels.split_panels.columns,
                 .word_step = kernels.split_panels.word_step,
                 .row_step = kernels.split_panels.row_step,
                 .tiles = true,
                 .split = kernels.split_row}),
        kernels_(kernels) {}
  const KernelTable& kernels() const { return kernels_; }
  void multiply(const MatmulTask& task) const override { kernels_.matmul_split(task); }
  const Product* halved(int64_t inputs) const override {
    return halved_product(*this, kernels_, inputs);
  }
  std::string name() const override { return fmt::format("panels for {}, split", kernels_.name); }

 private:
  const KernelTable& kernels_;
};

}  // namespace

const Product* split_product(const KernelTable& kernels) {
  if (!kernels.matmul_split) return nullptr;
  static std::mutex mutex;
  static auto& made = *new std::deque<SplitProduct>;  // also used by threads at exit
  const std::lock_guard lock(mutex);
  for (const SplitProduct& product : made) {
    if (&product.kernels() == &kernels) return &product;
  }
  return &made.emplace_back(kernels);
}

}  // namespace bert::engine

// SPDX-License-Identifier: Apache-2.0
//
// Products by oneDNN's micro-kernels, which 3.6 and later generate for the processor at run time.
// oneDNN multiplies; the blocking, prefetching and epilogues around it are here.
#include "engine/dense/onednn/onednn.h"
#include "engine/dense/product.h"

#if defined(DNNL_EXPERIMENTAL_UKERNEL) && DNNL_VERSION_MAJOR == 3 && DNNL_VERSION_MINOR >= 6

#include <algorithm>
#include <cassert>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl_ukernel.hpp>

#include "engine/kernels/pick_kernels.h"

namespace bert::engine {
namespace {

using dnnl::memory;
using dnnl::ukernel::brgemm;

// Rows per call; some of the next weights are prefetched between calls. By measurement, 12 to 48
// are equally fast.
constexpr int64_t kRowsOfCall = 24;
// Words of a panel that all rows of a task are multiplied with before the next part: they stay in
// the second-level cache beside those being prefetched. Adding up the sums of parts also rounds
// less than a single chain.
constexpr int64_t kPartWords = 384;
// Their sums fit on the stack.
constexpr int64_t kMaxRows = 264, kMaxColumns = 64;

struct CallShape {
  Precision precision;
  int64_t rows, words, x_stride;  // the product is [rows, words] x [words, columns]
  bool add;                       // to the sums, rather than overwriting them
  auto operator<=>(const CallShape&) const = default;
};

// oneDNN 3.7's finalize() throws if it cannot, that of later versions returns false.
template <typename Kernel>
void finalize(Kernel& kernel) {
  if constexpr (std::is_void_v<decltype(kernel.finalize())>) {
    kernel.finalize();
  } else if (!kernel.finalize()) {
    throw dnnl::error(dnnl_unimplemented, "there is no micro-kernel of this shape");
  }
}

// In versions after 3.7 it depends on the types alone.
template <typename Kernel>
dnnl::ukernel::pack_type packing_of(const Kernel& kernel, const OneDnnTypes& types) {
  if constexpr (requires { kernel.get_B_pack_type(); }) {
    return kernel.get_B_pack_type();
  } else {
    return Kernel::get_B_pack_type(types.inputs, types.weights);
  }
}

// A generated micro-kernel.
class MicroKernel {
 public:
  MicroKernel(const CallShape& shape, int64_t columns) {
    const OneDnnTypes types = onednn_types(shape.precision);
    const int64_t k = shape.words * types.per_word;
    kernel_ = brgemm(shape.rows, columns, k, 1, shape.x_stride * types.per_word, columns, columns,
                     types.inputs, types.weights, types.sums);
    kernel_.set_add_C(shape.add);
    finalize(kernel_);
    kernel_.generate();
    scratch_ = kernel_.get_scratchpad_size();
  }
  const brgemm& kernel() const { return kernel_; }
  size_t scratch() const { return scratch_; }  // bytes needed by a call

 private:
  brgemm kernel_;
  size_t scratch_;
};

// The micro-kernels made so far, shared by all threads.
class MicroKernels {
 public:
  explicit MicroKernels(int64_t columns) : columns_(columns) {}
  const MicroKernel& at(const CallShape& shape) {
    {
      const std::shared_lock lock(generated_mutex());
      if (const auto found = kernels_.find(shape); found != kernels_.end()) return found->second;
    }
    const std::lock_guard lock(generated_mutex());
    return kernels_.try_emplace(shape, shape, columns_).first->second;
  }

 private:
  const int64_t columns_;
  std::map<CallShape, MicroKernel> kernels_;
};

// Runs micro-kernels for a task. Processors with matrix tiles are told when the kernel changes.
class Calls {
 public:
  ~Calls() {
    if (last_) brgemm::release_hw_context();
  }
  Calls() = default;
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  void run(const MicroKernel& kernel, const Word32* x, const Word32* panel, float* sums) {
    if (std::exchange(last_, &kernel) != &kernel) {
      kernel.kernel().set_hw_context();
      if (scratch_.size() < kernel.scratch()) scratch_.resize(kernel.scratch());
    }
    kernel.kernel().execute(x, panel, offsets_, sums, scratch_.data());
  }

 private:
  const MicroKernel* last_ = nullptr;
  std::vector<std::byte> scratch_;
  const std::vector<std::pair<memory::dim, memory::dim>> offsets_ = {{0, 0}};
};

constexpr int64_t kLineWords = 16;

// Prefetches a number of words in equal slices.
class Prefetching {
 public:
  Prefetching(const Word32* from, int64_t words, int64_t slices)
      : at_(from),
        end_(from + words),
        step_((words / kLineWords + slices - 1) / slices * kLineWords) {}
  void slice() {
    for (const Word32* stop = std::min(end_, at_ + step_); at_ < stop; at_ += kLineWords) {
      __builtin_prefetch(at_, 0, 2);
    }
  }

 private:
  const Word32 *at_, *end_;
  int64_t step_;
};

class MicroKernelProduct final : public Product {
 public:
  MicroKernelProduct(Precision in, const PanelFormat& panels)
      : Product(Backend::onednn, in, panels), kernels_(panels.columns) {
    assert(panels.columns <= kMaxColumns);
  }

  void multiply(const MatmulTask& task) const override {
    for (int64_t row = 0; row < task.rows; row += kMaxRows) {
      multiply_rows(task, row, std::min(kMaxRows, task.rows - row));
    }
  }
  std::string name() const override {
    return fmt::format("oneDNN {} micro-kernels", onednn_version());
  }

 private:
  void multiply_rows(const MatmulTask& task, int64_t first, int64_t rows) const {
    const int64_t columns = panel.columns;
    alignas(64) float sums[kMaxRows * kMaxColumns], exact_sums[kRowsOfCall * kMaxColumns];
    const Word32* x = task.x + first * task.x_stride;
    const int64_t last_rows = (rows - 1) % kRowsOfCall + 1;
    Calls calls;
    for (int64_t begin = 0, end; begin < task.words; begin = end) {
      end = std::min(task.words, begin + kPartWords);
      const bool ends = end == task.words;
      CallShape shape{precision, kRowsOfCall, end - begin, task.x_stride, begin > 0};
      const MicroKernel* whole = rows >= kRowsOfCall ? &kernels_.at(shape) : nullptr;
      shape.rows = last_rows;
      const MicroKernel& last = kernels_.at(shape);
      Prefetching next(ends ? task.next : task.panel + end * columns, (end - begin) * columns,
                       (rows + kRowsOfCall - 1) / kRowsOfCall);
      for (int64_t row = 0; row < rows; row += kRowsOfCall) {
        const bool is_whole = rows - row >= kRowsOfCall;
        next.slice();
        float* to = sums + row * columns;
        const Word32* from = x + row * task.x_stride;
        calls.run(is_whole ? *whole : last, from + begin, task.panel + begin * columns, to);
        if (!ends) continue;
        const int64_t count = is_whole ? kRowsOfCall : last_rows;
        if (precision != Precision::int8) {
          best_kernels().finish(task, first + row, count, to, columns);
          continue;
        }
        if (task.exact > 0) {
          const CallShape exact{Precision::f32, count, task.exact, task.exact_stride, false};
          calls.run(kernels_.at(exact), task.exact_x + (first + row) * task.exact_stride,
                    task.panel + task.words * columns, exact_sums);
        }
        best_kernels().finish_int8(task, first + row, count, to,
                                   task.exact > 0 ? exact_sums : nullptr, columns);
      }
    }
  }

  mutable MicroKernels kernels_;
};

// Whether oneDNN has micro-kernels for a precision on this machine, with panels laid out like ours.
bool can_run(Precision precision, int64_t columns) try {
  const MicroKernel kernel({precision, kRowsOfCall, 16, 16, true}, columns);
  const auto wanted = precision == Precision::f32 ? dnnl::ukernel::pack_type::no_trans
                                                  : dnnl::ukernel::pack_type::pack32;
  return packing_of(kernel.kernel(), onednn_types(precision)) == wanted;
} catch (const dnnl::error&) {
  return false;
}

const Product* make_micro_kernels(Precision precision) {
  // By measurement. With AVX2, 16 columns by 6 rows fill the registers.
  PanelFormat format{.columns = can_use(OneDnnLevel::avx512) ? 64 : 16, .row_step = kRowsOfCall};
  // Processors with only AVX2's VNNI stay at 7 bits: not every build of oneDNN uses it.
  if (!can_use(OneDnnLevel::avx512_vnni)) format.int8.max_input = 127;
  if (!can_run(precision, format.columns)) return nullptr;
  return new MicroKernelProduct(precision, format);
}

}  // namespace

const Product* micro_kernel_product(Precision precision) {
  static const Product* const products[] = {make_micro_kernels(Precision::f32),
                                            make_micro_kernels(Precision::bf16),
                                            make_micro_kernels(Precision::int8)};
  return products[static_cast<int>(precision)];
}

}  // namespace bert::engine

#else

namespace bert::engine {
const Product* micro_kernel_product(Precision) { return nullptr; }
}  // namespace bert::engine

#endif

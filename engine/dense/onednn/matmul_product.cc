// SPDX-License-Identifier: Apache-2.0
//
// Products by oneDNN's matmul primitives: for 2.6, which has nothing else, and where later versions
// have no micro-kernels. A primitive is made for one number of rows, so rows go through in blocks
// of a few heights, and the last block is padded.
#include <algorithm>
#include <cassert>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "engine/dense/onednn/onednn.h"
#include "engine/dense/product.h"
#include "engine/kernels/pick_kernels.h"
#include "engine/runtime.h"
#include "engine/tensor.h"

namespace bert::engine {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

struct MatmulShape {
  Precision precision;
  int64_t rows, words;   // the product is [rows, words] x [words, columns]
  int64_t panel_stride;  // words from column to column in panels laid out as stored
  auto operator<=>(const MatmulShape&) const = default;
};

// The panel layout of oneDNN's kernels for AVX-512 and AMX, which our own share. Its older kernels
// take weights as they are stored.
Tag blocked_layout(Precision precision) {
  return precision == Precision::f32    ? Tag::BA16a64b
         : precision == Precision::bf16 ? Tag::BA16a64b2a
                                        : Tag::BA16a64b4a;
}

dnnl::matmul::primitive_desc describe(const MatmulShape& shape, const PanelFormat& panel) {
  const OneDnnTypes types = onednn_types(shape.precision);
  const int64_t k = shape.words * types.per_word;
  const memory::desc x({shape.rows, k}, types.inputs, Tag::ab);
  const memory::desc w =
      panel.transposed
          ? memory::desc({k, panel.columns}, types.weights, blocked_layout(shape.precision))
          : memory::desc({k, panel.columns}, types.weights,
                         memory::dims{1, shape.panel_stride * types.per_word});
  const memory::desc y({shape.rows, panel.columns}, types.sums, Tag::ab);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const OneThread one;
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul::primitive_desc(onednn_cpu(), x, w, y, attributes);
#else
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(x, w, y), attributes, onednn_cpu());
#endif
}

// oneDNN falls back on its reference code, thousands of times slower, where it has nothing better.
bool is_reference(const std::string& implementation) {
  return implementation.find("ref") != std::string::npos;
}

struct Primitive {
  Primitive(const MatmulShape& shape, const PanelFormat& panel)
      : description(describe(shape, panel)) {
    const std::string implementation = description.impl_info_str();
    if (is_reference(implementation)) {
      throw std::runtime_error(
          fmt::format("oneDNN {} has only its slow reference code, {}, for products of {} words in "
                      "{}, expected backend panels",
                      onednn_version(), implementation, shape.words, name_of(shape.precision)));
    }
    primitive = dnnl::matmul(description);
  }
  dnnl::matmul::primitive_desc description;
  dnnl::matmul primitive;
};

// Memory for one call at a time; it never shrinks.
struct Workspace {
  Buffer x, sums, exact_sums, scratch;
};

class MatmulProduct final : public Product {
 public:
  MatmulProduct(Precision in, const PanelFormat& panels, std::string implementation)
      : Product(Backend::onednn, in, panels),
        implementation_(std::move(implementation)),
        max_rows_(panels.transposed ? kMaxRows : kRowStep) {}

  void multiply(const MatmulTask& task) const override {
    std::unique_ptr<Workspace> space = take_workspace();
    dnnl::stream stream(onednn_cpu());
    const OneThread one;
    for (int64_t row = 0; row < task.rows; row += max_rows_) {
      multiply_rows(task, row, std::min(max_rows_, task.rows - row), stream, *space);
    }
    const std::unique_lock lock(spaces_mutex_, std::try_to_lock);
    if (lock) spaces_.push_back(std::move(space));
  }
  void prepare(int64_t words, int64_t exact) const override {
    at({precision, kRowStep, words, words + exact});
    if (exact > 0) at({Precision::f32, kRowStep, exact, words + exact});
  }
  std::string name() const override {
    return fmt::format("oneDNN {} matmul, {}", onednn_version(), implementation_);
  }

  // In oneDNN's older kernels for x86-64, a row's bits depend on the block's height, but not on the
  // row's place in it if the height is a multiple of 16 or 24. So all their blocks have 16 rows: by
  // measurement, 48 take three times as long for an input of 16 tokens and are no faster for longer
  // ones. The kernels for AVX-512 give a row the same bits at any height. Elsewhere, rows beyond a
  // multiple of 6 are summed in another order as soon as there are more than 256 inputs.
#ifdef __x86_64__
  static constexpr int64_t kRowStep = 16;
#else
  static constexpr int64_t kRowStep = 24;
#endif
  static constexpr int64_t kMaxRows = 96;

 private:
  void multiply_rows(const MatmulTask& task, int64_t first, int64_t rows, dnnl::stream& stream,
                     Workspace& space) const {
    const int64_t height = round_up(rows, kRowStep);
    assert(task.x_stride == task.words && (task.exact == 0 || task.exact_stride == task.exact));
    const int64_t panel_stride = task.words + task.exact;
    const Word32* x = fill_up(task.x + first * task.x_stride, rows, height, task.words, space.x);
    float* sums = space.sums.tensor(height, panel.columns).data;
    run({precision, height, task.words, panel_stride}, x, task.panel, sums, stream, space);
    if (precision != Precision::int8) {
      return best_kernels().finish(task, first, rows, sums, panel.columns);
    }
    float* exact_sums = nullptr;
    if (task.exact > 0) {
      exact_sums = space.exact_sums.tensor(height, panel.columns).data;
      x = fill_up(task.exact_x + first * task.exact_stride, rows, height, task.exact, space.x);
      const int64_t offset = task.words * (panel.transposed ? panel.columns : 1);
      run({Precision::f32, height, task.exact, panel_stride}, x, task.panel + offset, exact_sums,
          stream, space);
    }
    best_kernels().finish_int8(task, first, rows, sums, exact_sums, panel.columns);
  }

  // The dense rows [rows, words], or a copy padded with zeros if there are fewer than `height`.
  static const Word32* fill_up(const Word32* x, int64_t rows, int64_t height, int64_t words,
                               Buffer& copy) {
    if (rows == height) return x;
    Word32* to = as_words(copy.tensor(height, words).data);
    std::copy_n(x, rows * words, to);
    std::fill_n(to + rows * words, (height - rows) * words, Word32{0});
    return to;
  }

  void run(const MatmulShape& shape, const Word32* x, const Word32* weights, float* sums,
           dnnl::stream& stream, Workspace& space) const {
    const Primitive& matmul = at(shape);
    const auto view = [](const memory::desc& desc, const void* data) {
      return memory(desc, onednn_cpu(), const_cast<void*>(data));
    };
    const memory::desc scratch = matmul.description.scratchpad_desc();
    space.scratch.resize_discarding(divide_up(static_cast<int64_t>(scratch.get_size()), 4));
    matmul.primitive.execute(stream,
                             {{DNNL_ARG_SRC, view(matmul.description.src_desc(), x)},
                              {DNNL_ARG_WEIGHTS, view(matmul.description.weights_desc(), weights)},
                              {DNNL_ARG_DST, view(matmul.description.dst_desc(), sums)},
                              {DNNL_ARG_SCRATCHPAD, view(scratch, space.scratch.data())}});
    stream.wait();
  }

  const Primitive& at(const MatmulShape& shape) const {
    {
      const std::shared_lock lock(generated_mutex());
      if (const auto found = matmuls_.find(shape); found != matmuls_.end()) return found->second;
    }
    const std::lock_guard lock(generated_mutex());
    return matmuls_.try_emplace(shape, shape, panel).first->second;
  }
  std::unique_ptr<Workspace> take_workspace() const {
    const std::unique_lock lock(spaces_mutex_, std::try_to_lock);
    if (!lock || spaces_.empty()) return std::make_unique<Workspace>();
    std::unique_ptr<Workspace> space = std::move(spaces_.back());
    spaces_.pop_back();
    return space;
  }

  const std::string implementation_;
  const int64_t max_rows_;
  mutable std::map<MatmulShape, Primitive> matmuls_;
  // Only ever try_lock: in a child process, a thread that was not forked may hold it for ever.
  mutable std::mutex spaces_mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> spaces_;  // those that no call is using
};

// oneDNN's implementation for a layout, unless it has only its reference code.
std::optional<std::string> implementation(Precision precision, const PanelFormat& panel) try {
  constexpr int64_t kWords = 192;
  const std::string name =
      describe({precision, MatmulProduct::kRowStep, kWords, kWords}, panel).impl_info_str();
  if (!is_reference(name)) return name;
  log().info("oneDNN {} has only {} for {}, which is not used", onednn_version(), name,
             name_of(precision));
  return std::nullopt;
} catch (const dnnl::error&) {
  return std::nullopt;
}

const Product* make_matmul(Precision precision) {
#if defined(__x86_64__)
  const bool exact = can_use(OneDnnLevel::avx512_vnni);
#else
  const bool exact = true;  // no instruction there adds products in 16 bits
#endif
  const Int8Format int8{.bytes = 1, .max_input = exact ? 255 : 127};
  const PanelFormat blocked{.columns = 64,
                            .word_step = 16,
                            .row_step = MatmulProduct::kRowStep,
                            .dense_rows = true,
                            .int8 = int8};
  const PanelFormat as_stored{.columns = 128,
                              .transposed = false,
                              .row_step = MatmulProduct::kRowStep,
                              .dense_rows = true,
                              .int8 = int8};
  for (const PanelFormat& panel : {blocked, as_stored}) {
    // oneDNN 3.7.2's kernels for AVX2 get wrong sums from blocked weights with 3101 inputs.
    if (panel.transposed && !can_use(OneDnnLevel::avx512)) continue;
    const auto name = implementation(precision, panel);
    // The exact inputs of int8 are multiplied in f32, in the same layout.
    const bool complete = precision != Precision::int8 || implementation(Precision::f32, panel);
    if (name && complete) return new MatmulProduct(precision, panel, *name);
  }
  return nullptr;
}

}  // namespace

const Product* matmul_product(Precision precision) {
  static const Product* const products[] = {
      make_matmul(Precision::f32), make_matmul(Precision::bf16), make_matmul(Precision::int8)};
  return products[static_cast<int>(precision)];
}

}  // namespace bert::engine

// SPDX-License-Identifier: Apache-2.0
#include "engine/linear.h"

#include <compare>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <spdlog/spdlog.h>

#include "engine/profile.h"
#include "engine/rows.h"
#include "engine/runtime.h"

namespace bert::engine {
namespace {

using dnnl::memory;

constexpr int64_t kMaxRows = 240;
constexpr int64_t kLeastRows = 16;  // a block of fewer costs more in reading weights than it gains
// oneDNN's older matmul (without AVX-512, in 2.6) adds up a row in an order that depends on where
// in a tile of rows it lies, so there each height is a multiple of the tile: then all lie alike.
constexpr int64_t kTileRows = 24;

dnnl::engine& cpu() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

// The next height of the list 1 … 16, 20 … 64, 72 … 128, 144 … 240; or of the multiples of a tile.
int64_t next_height(int64_t rows, bool by_tiles) {
  const int64_t step = by_tiles      ? kTileRows
                       : rows <= 16  ? 1
                       : rows <= 64  ? 4
                       : rows <= 128 ? 8
                                     : 16;
  return (rows + step - 1) / step * step;
}

struct Shape {
  int64_t m, n, k;
  auto operator<=>(const Shape&) const = default;  // NOLINT(modernize-use-nullptr): a false alarm
};

memory::desc matrix(int64_t rows, int64_t columns, memory::format_tag tag) {
  return {{rows, columns}, memory::data_type::f32, tag};
}

dnnl::matmul::primitive_desc describe(const Shape& shape, const memory::desc& weights) {
  using tag = memory::format_tag;
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // else not safe from many threads
  const memory::desc x = matrix(shape.m, shape.k, tag::ab), y = matrix(shape.m, shape.n, tag::ab);
#if DNNL_VERSION_MAJOR >= 3
  return {cpu(), x, weights, y, attributes};
#else
  return {dnnl::matmul::desc(x, weights, y), attributes, cpu()};
#endif
}

// A reference implementation is correct and up to ten thousand times slower.
void check_implementation(std::string_view name, const Shape& shape) {
  log().debug("matmul {}x{}x{}: {}", shape.m, shape.n, shape.k, name);
  if (name.find("ref") == std::string_view::npos) return;
  const std::string message =
      fmt::format("oneDNN has only the reference implementation '{}' for a matmul of {}x{}x{}",
                  name, shape.m, shape.n, shape.k);
#ifndef NDEBUG
  throw std::runtime_error(message);
#else
  log().warn(message);
#endif
}

// The OpenMP runtime that oneDNN came with, if any: ours to link might be another (Clang's beside
// GCC's), whose setting oneDNN would not see.
struct OpenMp {
  int (*get)() = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  void (*set)(int) = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
};

// oneDNN takes one thread for each call, and gives the caller's setting back.
class OneThread {
 public:
  OneThread() : before_(library().get ? library().get() : 1) { set(1); }
  ~OneThread() { set(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  static const OpenMp& library() {
    static const OpenMp found;
    return found;
  }
  static void set(int threads) {
    if (library().set) library().set(threads);
  }
  int before_;
};

struct Product {
  dnnl::matmul primitive;
  memory::desc x, y, scratchpad;

  explicit Product(const dnnl::matmul::primitive_desc& description)
      : primitive(description),
        x(description.src_desc()),
        y(description.dst_desc()),
        scratchpad(description.scratchpad_desc()) {}

  // On this thread alone, with one stream and one scratchpad a thread: streams are not
  // thread-safe, and making one costs more than a small product.
  void run(const float* from, const memory& weights, float* to) const {
    thread_local dnnl::stream stream(cpu());
    thread_local Buffer space;
    const OneThread one;
    space.reserve(static_cast<int64_t>(scratchpad.get_size() / sizeof(float)) + 1);
    primitive.execute(stream, {{DNNL_ARG_SRC, {x, cpu(), const_cast<float*>(from)}},
                               {DNNL_ARG_WEIGHTS, weights},
                               {DNNL_ARG_DST, {y, cpu(), to}},
                               {DNNL_ARG_SCRATCHPAD, {scratchpad, cpu(), space.data()}}});
    stream.wait();
  }
};

// weight [n, k], as the checkpoint's rows read, in the layout that the product asks for.
memory packed(const dnnl::matmul::primitive_desc& description, const float* weight, int64_t n,
              int64_t k) {
  const OneThread one;
  memory packed(description.weights_desc(), cpu());
  memory plain(matrix(k, n, memory::format_tag::ba), cpu(), const_cast<float*>(weight));
  dnnl::stream stream(cpu());
  dnnl::reorder(plain, packed).execute(stream, plain, packed);
  stream.wait();
  return packed;
}

// A panel's columns: a multiple of oneDNN's blocks of 64 whose weights fit a core's second-level
// cache beside what they are multiplied with, all of them near the same width.
int64_t panel_columns(int64_t n, int64_t k) {
  constexpr int64_t kBytes = 5 << 18, kBlock = 64;
  const int64_t most =
      std::max(2 * kBlock, kBytes / (k * int64_t{sizeof(float)}) / kBlock * kBlock);
  const int64_t panels = (n + most - 1) / most;
  return ((n + panels - 1) / panels + kBlock - 1) / kBlock * kBlock;
}

}  // namespace

// The last block of a product reads at most the largest step, less a row, past its own.
int64_t padded_rows(int64_t rows) { return rows + kTileRows - 1; }

struct Primitives::Impl {
  ThreadPool* pool;
  std::shared_mutex mutex;
  std::map<Shape, Product> products;

  const Product& get(const Shape& shape, const memory::desc& weights) {
    {
      std::shared_lock lock(mutex);
      if (const auto found = products.find(shape); found != products.end()) return found->second;
    }
    std::unique_lock lock(mutex);
    if (const auto found = products.find(shape); found != products.end()) return found->second;
    const auto description = describe(shape, weights);
    check_implementation(description.impl_info_str(), shape);
    return products.emplace(shape, Product(description)).first->second;
  }
};

Primitives::Primitives(ThreadPool& pool) : impl_(std::make_unique<Impl>()) { impl_->pool = &pool; }
Primitives::~Primitives() = default;

struct Linear::Impl {
  struct Panel {
    int64_t begin, columns;
    memory weights;
  };

  Primitives::Impl* primitives;
  int64_t n, k;
  Activation activation;
  bool by_tiles = false;
  std::vector<Panel> panels;
  Buffer bias;

  void pack(const float* weight);
  void run(const float* x, float* y, int64_t rows, bool add) const;
  void run_panel(const Panel& panel, const float* x, float* y, int64_t rows, bool add) const;
};

// weight: [N, K]. A panel is [K, columns] as the checkpoint's rows read, in whatever layout the
// implementation likes best. It is asked for at one height: the layout does not depend on it, which
// the tests of bits at every height hold.
void Linear::Impl::pack(const float* weight) {
  const int64_t most = panel_columns(n, k);
  const memory::desc any = matrix(k, most, memory::format_tag::any);
  const auto description = describe({kTileRows, most, k}, any);
  by_tiles = !std::string_view(description.impl_info_str()).starts_with("brg");
  for (int64_t begin = 0; begin < n; begin += most) {
    panels.push_back({begin, std::min(most, n - begin), {}});
  }
  primitives->pool->run(std::ssize(panels), [&](int64_t i, int) {
    Panel& panel = panels[i];
    const memory::desc layout = matrix(k, panel.columns, memory::format_tag::any);
    panel.weights = packed(describe({5 * kTileRows, panel.columns, k}, layout),
                           weight + panel.begin * k, panel.columns, k);
  });
}

void Linear::Impl::run(const float* x, float* y, int64_t rows, bool add) const {
  const Timed timed(Step::linear);
  ThreadPool& pool = *primitives->pool;
  const int64_t columns = std::ssize(panels);
  // Blocks as high as they may be, but at least one for each thread while that leaves them worth
  // it.
  int64_t height = std::min(rows, kMaxRows);
  const auto blocks = [&] { return (rows + height - 1) / height; };
  while (blocks() * columns < pool.threads() && height > kLeastRows) height = (height + 1) / 2;
  if (blocks() > 1) height = next_height(height, by_tiles);
  // A panel's blocks follow each other: its weights are still in the cache.
  pool.run(blocks() * columns, [&](int64_t i, int) {
    const int64_t begin = i % blocks() * height;
    run_panel(panels[i / blocks()], x + begin * k, y + begin * n, std::min(height, rows - begin),
              add);
  });
}

void Linear::Impl::run_panel(const Panel& panel, const float* x, float* y, int64_t rows,
                             bool add) const {
  thread_local Buffer result;
  const Shape shape{next_height(rows, by_tiles), panel.columns, k};
  const Product& product = primitives->get(shape, panel.weights.get_desc());
  result.reserve(shape.m * shape.n);
  product.run(x, panel.weights, result.data());
  const RowKernels& kernels = row_kernels();
  for (int64_t i = 0; i < rows; ++i) {
    kernels.finish(result.data() + i * panel.columns, bias.data() + panel.begin, activation, add,
                   panel.columns, y + i * n + panel.begin);
  }
}

Linear::Linear(Primitives& primitives, std::span<const Part> parts, Activation activation)
    : impl_(std::make_unique<Impl>()) {
  int64_t columns = 0;
  for (const Part& part : parts) columns += part.weight.rows;
  const int64_t width = parts.front().weight.columns;
  impl_->primitives = primitives.impl_.get();
  impl_->n = columns;
  impl_->k = width;
  impl_->activation = activation;
  impl_->bias.reserve(columns);

  Buffer joined;  // one part needs no copy: packing reads it where it is
  if (parts.size() > 1) joined.reserve(columns * width);
  int64_t begin = 0;
  for (const Part& part : parts) {
    std::copy_n(part.bias, part.weight.rows, impl_->bias.data() + begin);
    if (parts.size() > 1) {
      std::copy_n(part.weight.data, part.weight.size(), joined.data() + begin * width);
    }
    begin += part.weight.rows;
  }
  impl_->pack(parts.size() > 1 ? joined.data() : parts.front().weight.data);
}
Linear::Linear(Linear&&) noexcept = default;
Linear& Linear::operator=(Linear&&) noexcept = default;
Linear::~Linear() = default;

int64_t Linear::width() const { return impl_->k; }
int64_t Linear::columns() const { return impl_->n; }

void Linear::run(ConstTensor x, Tensor y) const {
  assert(x.columns == impl_->k && y.columns == impl_->n && x.rows == y.rows);
  impl_->run(x.data, y.data, x.rows, false);
}

void Linear::run_add(ConstTensor x, Tensor y) const {
  assert(x.columns == impl_->k && y.columns == impl_->n && x.rows == y.rows);
  impl_->run(x.data, y.data, x.rows, true);
}

struct PlainMatmul::Impl {
  Product product;
  memory weights;
};

PlainMatmul::PlainMatmul(int64_t m, int64_t n, int64_t k, const float* w) {
  const auto description = describe({m, n, k}, matrix(k, n, memory::format_tag::any));
  impl_ = std::make_unique<Impl>(Product(description), packed(description, w, n, k));
}
PlainMatmul::~PlainMatmul() = default;
void PlainMatmul::run(const float* x, float* y) const { impl_->product.run(x, impl_->weights, y); }

}  // namespace bert::engine

// SPDX-License-Identifier: Apache-2.0
#include "engine/linear.h"

#include <compare>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <spdlog/spdlog.h>

#include "engine/runtime.h"

namespace bert::engine {
namespace {

using dnnl::memory;

constexpr int64_t kMaxRows = 512;

dnnl::engine& cpu() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

// The next height of the list 1 … 16, 20 … 64, 72 … 128, 144 … 256, 288 … 512.
int64_t next_height(int64_t rows) {
  const int64_t step = rows <= 16 ? 1 : rows <= 64 ? 4 : rows <= 128 ? 8 : rows <= 256 ? 16 : 32;
  return (rows + step - 1) / step * step;
}

struct Shape {
  int64_t m, n, k;
  Activation activation;
  bool add;
  auto operator<=>(const Shape&) const = default;  // NOLINT(modernize-use-nullptr): a false alarm
};

memory::desc matrix(int64_t rows, int64_t columns, memory::format_tag tag) {
  return {{rows, columns}, memory::data_type::f32, tag};
}

#if DNNL_VERSION_MAJOR >= 3
void append_activation(dnnl::post_ops& ops, dnnl::algorithm kind) {
  ops.append_eltwise(kind, 0.0f, 0.0f);
}
dnnl::matmul::primitive_desc describe(const memory::desc& x, const memory::desc& w,
                                      const memory::desc& b, const memory::desc& y,
                                      const dnnl::primitive_attr& attributes) {
  return {cpu(), x, w, b, y, attributes};
}
#else
void append_activation(dnnl::post_ops& ops, dnnl::algorithm kind) {
  ops.append_eltwise(1.0f, kind, 0.0f, 0.0f);
}
dnnl::matmul::primitive_desc describe(const memory::desc& x, const memory::desc& w,
                                      const memory::desc& b, const memory::desc& y,
                                      const dnnl::primitive_attr& attributes) {
  return {dnnl::matmul::desc(x, w, b, y), attributes, cpu()};
}
#endif

dnnl::primitive_attr attributes_of(const Shape& shape) {
  dnnl::post_ops ops;
  if (shape.add) ops.append_sum(1.0f);
  switch (shape.activation) {
    case Activation::none:
      break;
    case Activation::gelu:
      append_activation(ops, dnnl::algorithm::eltwise_gelu_erf);
      break;
    case Activation::gelu_tanh:
      append_activation(ops, dnnl::algorithm::eltwise_gelu_tanh);
      break;
    case Activation::relu:
      append_activation(ops, dnnl::algorithm::eltwise_relu);
      break;
    case Activation::tanh:
      append_activation(ops, dnnl::algorithm::eltwise_tanh);
      break;
  }
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(ops);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // else not safe from many threads
  return attributes;
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

struct Product {
  dnnl::matmul primitive;
  memory::desc x, y, bias, scratchpad;
};

// [K, N] as the checkpoint's [N, K] reads, in whatever layout the implementation likes best. It is
// asked for at one height: the layout does not depend on it, which packed_layout_test holds.
memory::desc packed_layout(int64_t n, int64_t k) {
  using tag = memory::format_tag;
  return describe(matrix(128, k, tag::ab), matrix(k, n, tag::any), matrix(1, n, tag::ab),
                  matrix(128, n, tag::ab), attributes_of({128, n, k, Activation::none, false}))
      .weights_desc();
}

}  // namespace

int64_t padded_rows(int64_t rows) {
  return rows / kMaxRows * kMaxRows + next_height(rows % kMaxRows);
}

struct Primitives::Impl {
  std::shared_mutex mutex;
  std::map<Shape, Product> products;

  const Product& get(const Shape& shape, const memory::desc& weights) {
    {
      std::shared_lock lock(mutex);
      if (const auto found = products.find(shape); found != products.end()) return found->second;
    }
    std::unique_lock lock(mutex);
    if (const auto found = products.find(shape); found != products.end()) return found->second;
    using tag = memory::format_tag;
    const auto description =
        describe(matrix(shape.m, shape.k, tag::ab), weights, matrix(1, shape.n, tag::ab),
                 matrix(shape.m, shape.n, tag::ab), attributes_of(shape));
    check_implementation(description.impl_info_str(), shape);
    return products
        .emplace(shape,
                 Product{dnnl::matmul(description), description.src_desc(), description.dst_desc(),
                         description.bias_desc(), description.scratchpad_desc()})
        .first->second;
  }
};

Primitives::Primitives(int threads) : threads_(threads), impl_(std::make_unique<Impl>()) {}
Primitives::~Primitives() = default;

struct Linear::Impl {
  Primitives* primitives;
  int64_t n, k;
  Activation activation;
  memory weights;
  Buffer bias;

  void run(const float* x, float* y, int64_t rows, bool add) const {
    // One stream and scratchpad a calling thread: streams are not thread-safe, and making one costs
    // more than a small product.
    thread_local dnnl::stream stream(cpu());
    thread_local Buffer scratchpad;
    const ThreadScope scope(primitives->threads());
    for (int64_t begin = 0; begin < rows; begin += kMaxRows) {
      const Shape shape{next_height(std::min(rows - begin, kMaxRows)), n, k, activation, add};
      const Product& product = primitives->impl_->get(shape, weights.get_desc());
      scratchpad.reserve(static_cast<int64_t>(product.scratchpad.get_size() / sizeof(float)) + 1);
      product.primitive.execute(
          stream, {{DNNL_ARG_SRC, {product.x, cpu(), const_cast<float*>(x + begin * k)}},
                   {DNNL_ARG_WEIGHTS, weights},
                   {DNNL_ARG_BIAS, {product.bias, cpu(), bias.data()}},
                   {DNNL_ARG_DST, {product.y, cpu(), y + begin * n}},
                   {DNNL_ARG_SCRATCHPAD, {product.scratchpad, cpu(), scratchpad.data()}}});
    }
    stream.wait();
  }
};

Linear::Linear(Primitives& primitives, std::span<const Part> parts, Activation activation)
    : impl_(std::make_unique<Impl>()) {
  int64_t columns = 0;
  for (const Part& part : parts) columns += part.weight.rows;
  const int64_t width = parts.front().weight.columns;
  impl_->primitives = &primitives;
  impl_->n = columns;
  impl_->k = width;
  impl_->activation = activation;
  impl_->bias.reserve(columns);

  Buffer joined;  // one part needs no copy: the reorder reads it where it is
  if (parts.size() > 1) joined.reserve(columns * width);
  int64_t begin = 0;
  for (const Part& part : parts) {
    std::copy_n(part.bias, part.weight.rows, impl_->bias.data() + begin);
    if (parts.size() > 1) {
      std::copy_n(part.weight.data, part.weight.size(), joined.data() + begin * width);
    }
    begin += part.weight.rows;
  }
  const ThreadScope scope(primitives.threads());
  const float* source = parts.size() > 1 ? joined.data() : parts.front().weight.data;
  memory plain(matrix(width, columns, memory::format_tag::ba), cpu(), const_cast<float*>(source));
  impl_->weights = memory(packed_layout(columns, width), cpu());
  dnnl::stream stream(cpu());
  dnnl::reorder(plain, impl_->weights).execute(stream, plain, impl_->weights);
  stream.wait();
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

}  // namespace bert::engine

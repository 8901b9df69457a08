// SPDX-License-Identifier: Apache-2.0
#include "engine/peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>
#include <spdlog/spdlog.h>

#include "engine/dense/onednn/onednn.h"
#include "engine/kernels/pick_kernels.h"
#include "engine/runtime.h"
#include "engine/tensor.h"

namespace bert::engine {
namespace {

using dnnl::memory;

// A oneDNN product y [m, m] = x [m, m] w, with w in the layout that oneDNN asks for.
class SquareProduct {
 public:
  SquareProduct(int64_t size, Precision precision) : size_(size), stream_(onednn_cpu()) {
    using Type = memory::data_type;
    const bool bytes = precision == Precision::int8;
    const Type inputs = bytes ? Type::u8 : precision == Precision::bf16 ? Type::bf16 : Type::f32;
    const OneThread one;
    const memory::desc x({size, size}, inputs, memory::format_tag::ab);
    const memory::desc w({size, size}, bytes ? Type::s8 : inputs, memory::format_tag::any);
    const memory::desc y({size, size}, bytes ? Type::s32 : Type::f32, memory::format_tag::ab);
#if DNNL_VERSION_MAJOR >= 3
    const dnnl::matmul::primitive_desc description(onednn_cpu(), x, w, y);
#else
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(x, w, y), onednn_cpu());
#endif
    log().info("peak: measured with oneDNN's {}", description.impl_info_str());
    primitive_ = dnnl::matmul(description);
    x_ = memory(x, onednn_cpu());
    w_ = memory(description.weights_desc(), onednn_cpu());
    y_ = memory(y, onednn_cpu());
    for (const memory* part : {&x_, &w_}) {  // every value is 60, or 0.0115 in f32 and bf16
      std::memset(part->get_data_handle(), 0x3c, part->get_desc().get_size());
    }
  }

  void run() {
    const OneThread one;
    primitive_.execute(stream_, {{DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, w_}, {DNNL_ARG_DST, y_}});
    stream_.wait();
  }
  double flops() const { return 2.0 * static_cast<double>(size_ * size_ * size_); }

 private:
  int64_t size_;
  dnnl::stream stream_;
  dnnl::matmul primitive_;
  memory x_, w_, y_;
};

double seconds_of(Team& team, const Team::Body& body) {
  const auto begin = std::chrono::steady_clock::now();
  team.run(team.threads(), body);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

double matmul_peak(Team& team, Precision precision) try {
  constexpr int kRounds = 5, kTries = 3;
  std::vector<std::unique_ptr<SquareProduct>> products(team.threads());
  double best = 0;
  for (int i = -1; i < kTries; ++i) {  // the first run, which creates the products, is not timed
    const double seconds = seconds_of(team, [&](int64_t t, int) {
      if (!products[t]) products[t] = std::make_unique<SquareProduct>(1024, precision);
      for (int round = 0; round < (i < 0 ? 1 : kRounds); ++round) products[t]->run();
    });
    const double flops = products[0]->flops() * kRounds * team.threads();
    if (i >= 0) best = std::max(best, flops / seconds);
  }
  return best;
} catch (const dnnl::error& error) {
  if (precision != Precision::bf16 || error.status != dnnl_unimplemented) throw;
  return matmul_peak(team, Precision::f32);
}

double multiply_add_peak(Team& team, Precision precision) {
  constexpr int64_t kRounds = 1 << 16;  // less than a millisecond
  constexpr int kTries = 8;
  std::vector<int64_t> operations(team.threads());
  double best = 0;
  for (int i = 0; i < kTries; ++i) {
    const double seconds = seconds_of(team, [&](int64_t t, int) {
      float sums[16] = {};
      operations[t] = best_kernels().multiply_and_add(precision, kRounds, sums);
    });
    best = std::max(best, static_cast<double>(operations[0] * team.threads()) / seconds);
  }
  return best;
}

double read_bandwidth(Team& team) {
  // 128 MB per thread, or less so that all stay within 2 GB.
  const int64_t floats = (int64_t{32} << 20) / divide_up(team.threads(), 16);
  const size_t bytes = sizeof(float) * static_cast<size_t>(floats);
  constexpr int kTries = 5;
  std::vector<Buffer> memory(team.threads());
  std::atomic<bool> found = false;
  double best = 0;
  for (int i = -1; i < kTries; ++i) {
    const double seconds = seconds_of(team, [&](int64_t t, int) {
      // Memory is only allocated once it is written to.
      if (i < 0) std::fill_n(memory[t].tensor(1, floats).data, floats, 0.0f);
      if (std::memchr(memory[t].data(), 1, bytes)) found = true;  // the search reads all of it
    });
    const double total = static_cast<double>(bytes) * team.threads();
    if (i >= 0 && !found) best = std::max(best, total / seconds);
  }
  return best;
}

}  // namespace bert::engine

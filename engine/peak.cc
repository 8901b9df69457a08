// SPDX-License-Identifier: Apache-2.0
#include "engine/peak.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "engine/linear.h"
#include "engine/tensor.h"

namespace bert::engine {
namespace {

double seconds_of(ThreadPool& pool, const ThreadPool::Body& body) {
  const auto begin = std::chrono::steady_clock::now();
  pool.run(pool.threads(), body);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

double matmul_peak(ThreadPool& pool) {
  constexpr int64_t kSize = 1024, kRounds = 12, kTries = 7;
  std::vector<Buffer> x(pool.threads()), w(pool.threads()), y(pool.threads());
  std::vector<std::unique_ptr<PlainMatmul>> products(pool.threads());
  double best = 0;
  for (int i = -1; i < kTries; ++i) {  // the first makes what the others need
    const double seconds = seconds_of(pool, [&](int64_t t, int) {
      if (!products[t]) {
        for (Buffer* buffer : {&x[t], &w[t], &y[t]}) {
          buffer->reserve(kSize * kSize);
          std::fill_n(buffer->data(), kSize * kSize, 0.01f);
        }
        products[t] = std::make_unique<PlainMatmul>(kSize, kSize, kSize, w[t].data());
      }
      for (int64_t round = 0; round < kRounds; ++round) products[t]->run(x[t].data(), y[t].data());
    });
    const double flops = 2.0 * kSize * kSize * kSize * kRounds * pool.threads();
    if (i >= 0) best = std::max(best, flops / seconds);
  }
  return best;
}

double read_bandwidth(ThreadPool& pool) {
  constexpr int64_t kFloats = int64_t{32} << 20;  // 128 MB a thread
  constexpr int kTries = 5;
  std::vector<Buffer> memory(pool.threads());
  std::vector<float> sums(static_cast<size_t>(pool.threads()) * 16);
  double best = 0;
  for (int i = -1; i < kTries; ++i) {
    const double seconds = seconds_of(pool, [&](int64_t t, int) {
      memory[t].reserve(kFloats);
      float sum[16] = {};
      for (int64_t j = 0; j < kFloats; j += 16) {
        for (int64_t k = 0; k < 16; ++k) sum[k] += memory[t].data()[j + k];
      }
      for (int k = 0; k < 16; ++k) sums[t * 16] += sum[k];
    });
    const double bytes = 4.0 * kFloats * pool.threads();
    if (i >= 0 && sums[0] == 0) best = std::max(best, bytes / seconds);
  }
  return best;
}

}  // namespace bert::engine

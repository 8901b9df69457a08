// SPDX-License-Identifier: Apache-2.0
#include "engine/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

namespace bert::engine {

bool all_finite(std::span<const float> values) {
  typedef float Floats __attribute__((vector_size(16)));  // wider ones are slow without AVX
  typedef int32_t Masks __attribute__((vector_size(16)));
  constexpr size_t kLanes = 4, kStep = 4 * kLanes;
  Masks bad[kStep / kLanes] = {};
  const size_t whole = values.size() / kStep * kStep;
  for (size_t i = 0; i < whole; i += kStep) {
    Floats x[kStep / kLanes];
    std::memcpy(x, values.data() + i, sizeof x);
    for (size_t j = 0; j < kStep / kLanes; ++j) bad[j] |= x[j] - x[j] != 0.0f;  // inf - inf is NaN
  }
  const Masks any = bad[0] | bad[1] | bad[2] | bad[3];
  return (any[0] | any[1] | any[2] | any[3]) == 0 &&
         std::all_of(values.begin() + static_cast<int64_t>(whole), values.end(),
                     [](float x) { return std::isfinite(x); });
}

void Buffer::resize_discarding(int64_t size) {
  if (size <= size_) return;
  constexpr int64_t kAlignment = 64;  // bytes
  const auto bytes =
      static_cast<size_t>(round_up(size * static_cast<int64_t>(sizeof(float)), kAlignment));
  data_.reset();  // first, as holding both would raise the peak memory
  size_ = 0;
  if (bytes >= kHugePage) {
    map(bytes);
  } else {
    data_ = {static_cast<float*>(std::aligned_alloc(kAlignment, bytes)),
             Free{.mapped = 0, .mapping = nullptr}};
    if (!data_) throw std::bad_alloc();
    std::fill_n(data_.get(), size, 0.0f);
  }
  size_ = size;
}

}  // namespace bert::engine

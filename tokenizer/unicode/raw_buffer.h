// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace bert::tokenizer {

// Memory that only grows and, unlike a vector's, is not initialised.
template <class T>
class RawBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

  // Makes room for `size` elements; keeps the first `keep`.
  void reserve(size_t size, size_t keep = 0) {
    if (size <= capacity_) return;
    size = std::max(size, capacity_ + capacity_ / 2);
    auto data = std::make_unique_for_overwrite<T[]>(size);
    std::copy_n(data_.get(), keep, data.get());
    data_ = std::move(data);
    capacity_ = size;
  }

 private:
  std::unique_ptr<T[]> data_;
  size_t capacity_ = 0;
};

}  // namespace bert::tokenizer

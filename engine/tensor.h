// SPDX-License-Identifier: Apache-2.0
//
// Letters, here and everywhere: T tokens in a batch, S tokens in a sequence, H hidden, A heads,
// D = H / A, I intermediate, V vocabulary, L layers, N sequences.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace bert::engine {

// How many steps it takes to n.
constexpr int64_t divide_up(int64_t n, int64_t step) { return (n + step - 1) / step; }

// A row-major view; does not own what it shows.
template <typename Element>
struct View {
  Element* data = nullptr;
  int64_t rows = 0;
  int64_t columns = 0;

  Element* row(int64_t i) const {
    assert(i >= 0 && i < rows);
    return data + i * columns;
  }
  int64_t size() const { return rows * columns; }
  // As T* becomes const T*.
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator View<const Element>() const { return {data, rows, columns}; }
};
using Tensor = View<float>;
using ConstTensor = View<const float>;

// Owns floats on a cache line's boundary. Grows, and never shrinks.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept
      : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  ~Buffer() = default;
  explicit Buffer(int64_t size) { reserve(size); }

  float* data() const { return data_.get(); }
  int64_t size() const { return size_; }

  // At least `size` floats, zero when new. Growing loses what was there. Throws std::bad_alloc.
  void reserve(int64_t size);
  // The same for what does not grow, such as panels: close behind others, so that they all lie in
  // huge pages to their ends.
  void reserve_beside_others(int64_t size);
  Tensor tensor(int64_t rows, int64_t columns) {
    reserve(rows * columns);
    return {data(), rows, columns};
  }

 private:
  struct Free {
    size_t mapped;                // bytes of a mapping, or 0
    std::shared_ptr<void> whole;  // where the bytes are a part of one
    void operator()(float* p) const;
  };
  std::unique_ptr<float, Free> data_;
  int64_t size_ = 0;
};

}  // namespace bert::engine

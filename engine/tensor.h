// SPDX-License-Identifier: Apache-2.0
//
// Letters, here and everywhere: T tokens in a batch, S tokens in a sequence, H hidden, A heads,
// D = H / A, I intermediate, V vocabulary, L layers, N sequences.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace bert::engine {

// n / step, rounded up.
constexpr int64_t divide_up(int64_t n, int64_t step) { return (n + step - 1) / step; }
constexpr int64_t round_up(int64_t n, int64_t step) { return divide_up(n, step) * step; }
// Floats of a thread's own part of a buffer: no two threads write to the same cache line.
constexpr int64_t whole_lines(int64_t floats) { return round_up(floats, 16); }

// A row-major view, which does not own its elements.
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
  // Implicit, as T* converts to const T*.
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator View<const Element>() const { return {data, rows, columns}; }
};
using Tensor = View<float>;
using ConstTensor = View<const float>;

bool all_finite(std::span<const float> values);
// Throws std::runtime_error if a value is NaN or infinite: "WHAT[i, j] is nan, expected a finite
// number", and without i if there is one row.
void require_finite(ConstTensor values, std::string_view what);

// Owns floats, aligned to a cache line. Grows but never shrinks.
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
  explicit Buffer(int64_t size) { resize_discarding(size); }

  // Buffers of at least this many bytes are mappings of their own.
  static constexpr size_t kHugePage = size_t{2} << 20;

  float* data() const { return data_.get(); }
  int64_t size() const { return size_; }

  // Makes room for at least `size` floats. Growing discards the contents: new memory is zero.
  // Throws std::bad_alloc.
  void resize_discarding(int64_t size);
  // The same for a buffer that never grows, such as panels: placed right after other such buffers,
  // so that all of them fill huge pages to the end.
  void resize_in_shared_pages(int64_t size);
  Tensor tensor(int64_t rows, int64_t columns) {
    resize_discarding(rows * columns);
    return {data(), rows, columns};
  }

 private:
  void map(size_t bytes);
  struct Free {
    size_t mapped;                  // bytes of a mapping, or 0 if from the heap
    std::shared_ptr<void> mapping;  // the one shared with other buffers, or null
    void operator()(float* p) const;
  };
  std::unique_ptr<float, Free> data_;
  int64_t size_ = 0;
};

}  // namespace bert::engine

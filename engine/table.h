// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/tensor.h"

namespace bert::engine {

enum class FloatType { f32, f16, bf16 };

// Exact: every f16 and bf16 is an f32. from: at any alignment.
void widen(FloatType type, const std::byte* from, int64_t count, float* to);

// A matrix of which rows are looked up. It may be a view of a file that stores 16 bits: then only
// the rows that are looked up are ever in memory.
struct Table {
  const std::byte* data = nullptr;  // aligned to a float if the type is f32
  FloatType type = FloatType::f32;
  int64_t rows = 0, columns = 0;

  Table() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  Table(ConstTensor floats);
  Table(const std::byte* bytes, FloatType of, int64_t n, int64_t width)
      : data(bytes), type(of), rows(n), columns(width) {}

  // Row i as floats, which are in `room` [columns] unless the table's own are f32.
  const float* row(int64_t i, float* room) const;
  void prefetch(int64_t i) const;
  ConstTensor floats() const;  // only if the type is f32

 private:
  const std::byte* begin(int64_t i) const;
  int64_t row_bytes() const { return columns * (type == FloatType::f32 ? 4 : 2); }
};

}  // namespace bert::engine

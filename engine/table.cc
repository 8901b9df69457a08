// SPDX-License-Identifier: Apache-2.0
#include "engine/table.h"

#include <bit>
#include <cassert>
#include <cstring>

namespace bert::engine {
namespace {

// Without branches and with masks, so that compilers vectorise the loop for SSE2.
float widen_half(uint16_t half) {
  constexpr int32_t kExponent = 1 << 23;  // f32's lowest bit of the exponent
  const int32_t sign = (half & 0x8000) << 16, magnitude = (half & 0x7fff) << 13;
  const int32_t is_normal = -static_cast<int32_t>(magnitude >= kExponent);
  const int32_t is_special = -static_cast<int32_t>(magnitude >= 31 * kExponent);  // infinite, NaN
  // 112: the biases' difference.
  const int32_t normal = magnitude + 112 * kExponent + (is_special & 112 * kExponent);
  // Subnormals are in units of 2^-24, the last bit of numbers from 2^-14 on.
  const float subnormal = std::bit_cast<float>(magnitude + 113 * kExponent) - 0x1p-14f;
  return std::bit_cast<float>(sign | (is_normal & normal) |
                              (~is_normal & std::bit_cast<int32_t>(subnormal)));
}

float widen_bfloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

template <typename Widen>
void widen_all(const std::byte* from, int64_t count, float* to, const Widen& one) {
  for (int64_t i = 0; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, from + 2 * i, sizeof bits);
    to[i] = one(bits);
  }
}

}  // namespace

void widen(FloatType type, const std::byte* from, int64_t count, float* to) {
  if (type == FloatType::f16) {
    widen_all(from, count, to, widen_half);
  } else if (type == FloatType::bf16) {
    widen_all(from, count, to, widen_bfloat);
  } else if (count > 0) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
  }
}

Table::Table(ConstTensor floats)
    : data(reinterpret_cast<const std::byte*>(floats.data)),
      rows(floats.rows),
      columns(floats.columns) {}

const std::byte* Table::begin(int64_t i) const {
  assert(i >= 0 && i < rows);
  return data + i * row_bytes();
}

const float* Table::row(int64_t i, float* room) const {
  if (type == FloatType::f32) return reinterpret_cast<const float*>(begin(i));
  widen(type, begin(i), columns, room);
  return room;
}

void Table::prefetch(int64_t i) const {
  for (int64_t j = 0; j < row_bytes(); j += 64) __builtin_prefetch(begin(i) + j);
}

ConstTensor Table::floats() const {
  assert(type == FloatType::f32);
  return {reinterpret_cast<const float*>(data), rows, columns};
}

}  // namespace bert::engine

// SPDX-License-Identifier: Apache-2.0
#include "models/weights/stored_tensor.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace bert::models {
namespace {

static_assert(std::endian::native == std::endian::little, "weight files are little-endian");

struct DTypeRow {
  std::string_view name;
  DType dtype;
  int64_t size;
};
constexpr DTypeRow kDTypes[] = {
    {"F64", DType::f64, 8},      {"F32", DType::f32, 4}, {"F16", DType::f16, 2},
    {"BF16", DType::bf16, 2},    {"I64", DType::i64, 8}, {"I32", DType::i32, 4},
    {"I16", DType::i16, 2},      {"I8", DType::i8, 1},   {"U8", DType::u8, 1},
    {"BOOL", DType::boolean, 1},
};

const DTypeRow& row_of(DType dtype) {
  return *std::find_if(std::begin(kDTypes), std::end(kDTypes),
                       [&](const DTypeRow& row) { return row.dtype == dtype; });
}

template <typename T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

float widened(DType dtype, const std::byte* from) {
  float value;
  engine::widen(*float_type(dtype), from, 1, &value);
  return value;
}

// The offset of the row-major index i, in elements.
int64_t element_offset(const StoredTensor& tensor, int64_t i) {
  if (tensor.strides.empty()) return i;
  int64_t offset = 0;
  for (size_t d = tensor.shape.size(); d-- > 0; i /= tensor.shape[d]) {
    offset += i % tensor.shape[d] * tensor.strides[d];
  }
  return offset;
}

double element(DType dtype, const std::byte* from) {
  switch (dtype) {
    case DType::f64:
      return read<double>(from);
    case DType::f32:
      return read<float>(from);
    case DType::f16:
    case DType::bf16:
      return widened(dtype, from);
    case DType::i64:
      return static_cast<double>(read<int64_t>(from));
    case DType::i32:
      return read<int32_t>(from);
    case DType::i16:
      return read<int16_t>(from);
    case DType::i8:
      return read<int8_t>(from);
    case DType::u8:
    case DType::boolean:
      return read<uint8_t>(from);
  }
  return 0;
}

// Rows and columns of a tile, small enough for what is read and what is written to stay cached.
constexpr int64_t kCopyTile = 16;

// Copies a matrix with any strides, such as TensorFlow's transposed kernels.
void copy_matrix(const StoredTensor& tensor, float* values) {
  const int64_t rows = tensor.shape[0], columns = tensor.shape[1], size = dtype_size(tensor.dtype);
  const int64_t down = tensor.strides[0] * size, right = tensor.strides[1] * size;
  for (int64_t top = 0; top < rows; top += kCopyTile) {
    for (int64_t left = 0; left < columns; left += kCopyTile) {
      for (int64_t i = top; i < std::min(rows, top + kCopyTile); ++i) {
        for (int64_t j = left; j < std::min(columns, left + kCopyTile); ++j) {
          const std::byte* from = tensor.bytes.data() + i * down + j * right;
          values[i * columns + j] = tensor.dtype == DType::f32
                                        ? read<float>(from)
                                        : static_cast<float>(element(tensor.dtype, from));
        }
      }
    }
  }
}

void add(const LowRank& addition, int64_t rows, int64_t columns, float* values) {
  for (int64_t i = 0; i < rows; ++i, values += columns) {
    for (int64_t k = 0; k < addition.rank; ++k) {
      const float factor = addition.left[i * addition.rank + k];
      const float* const right = &addition.right[k * columns];
      for (int64_t j = 0; j < columns; ++j) values[j] += factor * right[j];
    }
  }
}

}  // namespace

std::string_view dtype_name(DType dtype) { return row_of(dtype).name; }

int64_t dtype_size(DType dtype) { return row_of(dtype).size; }

std::optional<engine::FloatType> float_type(DType dtype) {
  if (dtype == DType::f32) return engine::FloatType::f32;
  if (dtype == DType::f16) return engine::FloatType::f16;
  if (dtype == DType::bf16) return engine::FloatType::bf16;
  return std::nullopt;
}

std::optional<DType> dtype_named(std::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

int64_t StoredTensor::elements() const {
  int64_t count = 1;
  for (const int64_t dimension : shape) count *= dimension;
  return count;
}

double StoredTensor::at(int64_t i) const {
  return element(dtype, bytes.data() + element_offset(*this, i) * dtype_size(dtype));
}

std::string StoredTensor::row_major() const {
  std::string copy(static_cast<size_t>(size()), '\0');
  const auto width = static_cast<size_t>(dtype_size(dtype));
  if (strides.empty()) {
    if (!copy.empty()) std::memcpy(copy.data(), bytes.data(), copy.size());
    return copy;
  }
  for (size_t i = 0; i * width < copy.size(); ++i) {
    const auto from = static_cast<size_t>(element_offset(*this, static_cast<int64_t>(i))) * width;
    std::memcpy(copy.data() + i * width, bytes.data() + from, width);
  }
  return copy;
}

void StoredTensor::copy_to(float* values) const {
  const int64_t count = elements();
  if (strides.size() == 2) {
    copy_matrix(*this, values);
  } else if (!strides.empty()) {
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(at(i));
  } else if (is_float(dtype)) {
    engine::widen(*float_type(dtype), bytes.data(), count, values);
  } else {
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(at(i));
  }
  if (addition) add(*addition, shape[0], shape[1], values);
}

}  // namespace bert::models

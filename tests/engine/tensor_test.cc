// SPDX-License-Identifier: Apache-2.0
#include "engine/tensor.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include <gtest/gtest.h>

namespace bert::engine {
namespace {

// Small ones come from the heap, large ones are mappings; the sizes between are where one begins.
TEST(Buffer, IsZeroAndOnALineHoweverItGrows) {
  Buffer buffer;
  for (const int64_t size : {1, 17, 500, (1 << 19) - 16, 1 << 19, (1 << 19) + 1, 3000001}) {
    buffer.reserve(size);
    ASSERT_GE(buffer.size(), size);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
    ASSERT_EQ(std::count(buffer.data(), buffer.data() + size, 0.0f), size);
    std::fill_n(buffer.data(), size, 1.0f);
    const float* before = buffer.data();
    buffer.reserve(size / 2);
    ASSERT_EQ(buffer.data(), before) << "shrank at " << size;
  }
  const Buffer moved = std::move(buffer);
  EXPECT_EQ(moved.data()[3000000], 1.0f);
}

TEST(Buffer, OfMoreThanThereIsThrows) {
  Buffer buffer(10);
  EXPECT_THROW(buffer.reserve(int64_t{1} << 45), std::bad_alloc);
  EXPECT_EQ(buffer.size(), 0);
}

}  // namespace
}  // namespace bert::engine

// SPDX-License-Identifier: Apache-2.0
#include "engine/tensor.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace bert::engine {
namespace {

// Small buffers come from the heap, large ones are mappings; the sizes include the limit between
// them.
TEST(Buffer, IsZeroAndAlignedHoweverItGrows) {
  Buffer buffer;
  for (const int64_t size : {1, 17, 500, (1 << 19) - 16, 1 << 19, (1 << 19) + 1, 3000001}) {
    buffer.resize_discarding(size);
    ASSERT_GE(buffer.size(), size);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
    ASSERT_EQ(std::count(buffer.data(), buffer.data() + size, 0.0f), size);
    std::fill_n(buffer.data(), size, 1.0f);
    const float* before = buffer.data();
    buffer.resize_discarding(size / 2);
    ASSERT_EQ(buffer.data(), before) << "shrank at " << size;
  }
  const Buffer moved = std::move(buffer);
  EXPECT_EQ(moved.data()[3000000], 1.0f);
}

// Sizes around the smallest and the largest that share a mapping, about 500 MB in all and 80 MB at
// once.
TEST(Buffer, InSharedPagesKeepsItsContents) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int64_t> floats(100 << 10, 9 << 20);
  std::vector<std::pair<Buffer, float>> alive;
  const auto check = [](const Buffer& buffer, float value) {
    ASSERT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
    const auto is_value = [&](float x) { return x == value; };
    ASSERT_TRUE(std::all_of(buffer.data(), buffer.data() + buffer.size(), is_value));
  };
  for (int i = 1; i <= 30; ++i) {
    Buffer buffer;
    const int64_t size = floats(generator);
    buffer.resize_in_shared_pages(size);
    ASSERT_EQ(buffer.size(), size);
    check(buffer, 0);
    std::fill_n(buffer.data(), size, static_cast<float>(i));
    alive.emplace_back(std::move(buffer), static_cast<float>(i));
    if (alive.size() < 5) continue;
    const size_t gone = generator() % alive.size();
    check(alive[gone].first, alive[gone].second);
    alive.erase(alive.begin() + static_cast<int64_t>(gone));
  }
  for (const auto& [buffer, value] : alive) check(buffer, value);
}

TEST(Buffer, ThrowsIfThereIsTooLittleMemory) {
  Buffer buffer(10);
  EXPECT_THROW(buffer.resize_discarding(int64_t{1} << 45), std::bad_alloc);
  EXPECT_EQ(buffer.size(), 0);
}

}  // namespace
}  // namespace bert::engine

// SPDX-License-Identifier: Apache-2.0
#include "engine/tensor.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace bert::engine {
namespace {

// kPage: a multiple of every size that the system's pages have.
constexpr size_t kLine = 64, kPage = size_t{64} << 10, kHugePage = size_t{2} << 20;

size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

// Zeros, from the beginning of a huge page on.
std::byte* map(size_t bytes) {
  void* start =
      mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  // What lies before and behind whole huge pages is given back.
  auto* first = static_cast<std::byte*>(start);
  const size_t before =
      round_up(reinterpret_cast<uintptr_t>(first), kHugePage) - reinterpret_cast<uintptr_t>(first);
  if (before > 0) munmap(first, before);
  if (before < kHugePage) munmap(first + before + bytes, kHugePage - before);
  madvise(first + before, bytes, MADV_HUGEPAGE);  // a wish: there are kernels without
  return first + before;
}

// A mapping that is handed out bit by bit, and lasts as long as one bit of it is held.
struct Stretch {
  static constexpr size_t kSize = size_t{128} << 20;
  std::byte* const begin = map(kSize);
  size_t used = 0;

  Stretch() = default;
  Stretch(const Stretch&) = delete;
  Stretch& operator=(const Stretch&) = delete;
  ~Stretch() { munmap(begin, kSize); }
};

}  // namespace

// Large buffers are mappings in huge pages: panels are read from end to end, and in pages of 4 KiB
// that is a look-up for every sixteen rows. They come as zeros from the system, when a thread first
// writes to them and so by all threads at once.
void Buffer::reserve(int64_t size) {
  if (size <= size_) return;
  const size_t bytes = round_up(static_cast<size_t>(size) * sizeof(float), kLine);
  data_.reset();  // before the new block: the two together would set the peak
  size_ = 0;
  if (bytes < kHugePage) {
    data_ = {static_cast<float*>(std::aligned_alloc(kLine, bytes)), Free{0, nullptr}};
    if (!data_) throw std::bad_alloc();
    std::fill_n(data_.get(), size, 0.0f);
  } else {
    const size_t mapped = round_up(bytes, kPage);
    data_ = {reinterpret_cast<float*>(map(mapped)), Free{mapped, nullptr}};
  }
  size_ = size;
}

void Buffer::reserve_beside_others(int64_t size) {
  // Less than this is not worth a page that may be its own alone.
  constexpr size_t kLeast = size_t{512} << 10;
  const size_t bytes = round_up(static_cast<size_t>(size) * sizeof(float), kLine);
  if (bytes < kLeast || bytes > Stretch::kSize / 4) return reserve(size);
  static std::mutex mutex;
  static std::weak_ptr<Stretch> latest;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Stretch> stretch = latest.lock();
  if (!stretch || Stretch::kSize - stretch->used < bytes) {
    latest = stretch = std::make_shared<Stretch>();
  }
  std::byte* const begin = stretch->begin + std::exchange(stretch->used, stretch->used + bytes);
  data_ = {reinterpret_cast<float*>(begin), Free{bytes, std::move(stretch)}};
  size_ = size;
}

void Buffer::Free::operator()(float* p) const {
  if (whole) {  // gives its pages back, though the others may be there for long
    const auto address = reinterpret_cast<uintptr_t>(p);
    const size_t begin = round_up(address, kPage), end = (address + mapped) / kPage * kPage;
    madvise(reinterpret_cast<std::byte*>(p) + (begin - address), end - begin, MADV_DONTNEED);
  } else if (mapped > 0) {
    munmap(p, mapped);
  } else {
    std::free(p);
  }
}

}  // namespace bert::engine

// SPDX-License-Identifier: Apache-2.0
#include "engine/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include <sys/mman.h>

namespace bert::engine {
namespace {

// kPage: a multiple of every size that the system's pages have.
constexpr size_t kLine = 64, kPage = size_t{64} << 10, kHugePage = size_t{2} << 20;

size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

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
    data_ = {static_cast<float*>(std::aligned_alloc(kLine, bytes)), Free{0}};
    if (!data_) throw std::bad_alloc();
    std::fill_n(data_.get(), size, 0.0f);
  } else {
    const size_t mapped = round_up(bytes, kPage), all = mapped + kHugePage;
    void* start = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) throw std::bad_alloc();
    // What lies before and behind whole huge pages is given back.
    auto* first = static_cast<std::byte*>(start);
    const size_t before = round_up(reinterpret_cast<uintptr_t>(first), kHugePage) -
                          reinterpret_cast<uintptr_t>(first);
    if (before > 0) munmap(first, before);
    if (before < kHugePage) munmap(first + before + mapped, kHugePage - before);
    data_ = {reinterpret_cast<float*>(first + before), Free{mapped}};
    madvise(data_.get(), mapped, MADV_HUGEPAGE);  // a wish: there are kernels without
  }
  size_ = size;
}

void Buffer::Free::operator()(float* p) const {
  if (mapped > 0) {
    munmap(p, mapped);
  } else {
    std::free(p);
  }
}

}  // namespace bert::engine

// SPDX-License-Identifier: Apache-2.0
//
// Large buffers are mappings in huge pages: panels are read from end to end, and pages of 4 KiB
// need an address translation every sixteen rows. The system zeroes a page when a thread first
// writes to it, so all threads share that work.
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include <sys/mman.h>

#include "engine/tensor.h"

namespace bert::engine {
namespace {

// kPage is a multiple of every page size that Linux uses, other than huge pages.
constexpr size_t kLine = 64, kPage = size_t{64} << 10, kHugePage = Buffer::kHugePage;

size_t round_up(size_t n, size_t step) { return (n + step - 1) / step * step; }

// Maps zeros, aligned to a huge page.
std::byte* map_pages(size_t bytes) {
  void* start =
      mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc();
  // Unmap what lies before the first huge page, and after the bytes.
  auto* first = static_cast<std::byte*>(start);
  const size_t before =
      round_up(reinterpret_cast<uintptr_t>(first), kHugePage) - reinterpret_cast<uintptr_t>(first);
  if (before > 0) munmap(first, before);
  if (before < kHugePage) munmap(first + before + bytes, kHugePage - before);
  madvise(first + before, bytes, MADV_HUGEPAGE);  // may fail: some kernels have none
  return first + before;
}

// A mapping that several buffers share; it lives as long as any of them.
struct SharedMapping {
  static constexpr size_t kSize = size_t{128} << 20;
  std::byte* const begin = map_pages(kSize);
  size_t used = 0;

  SharedMapping() = default;
  SharedMapping(const SharedMapping&) = delete;
  SharedMapping& operator=(const SharedMapping&) = delete;
  ~SharedMapping() { munmap(begin, kSize); }
};

}  // namespace

void Buffer::map(size_t bytes) {
  const size_t mapped = round_up(bytes, kPage);
  data_ = {reinterpret_cast<float*>(map_pages(mapped)), Free{.mapped = mapped, .mapping = nullptr}};
}

void Buffer::resize_in_shared_pages(int64_t size) {
  // A smaller buffer is not worth a huge page, which it may not end up sharing.
  constexpr size_t kMinShared = size_t{512} << 10;
  const size_t bytes = round_up(static_cast<size_t>(size) * sizeof(float), kLine);
  if (bytes < kMinShared || bytes > SharedMapping::kSize / 4) return resize_discarding(size);
  static std::mutex mutex;
  static auto& latest = *new std::weak_ptr<SharedMapping>;  // also used by threads at exit
  // In a child process, a thread that was not forked may hold it for ever.
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock) return resize_discarding(size);
  std::shared_ptr<SharedMapping> shared = latest.lock();
  if (!shared || SharedMapping::kSize - shared->used < bytes) {
    latest = shared = std::make_shared<SharedMapping>();
  }
  std::byte* const begin = shared->begin + std::exchange(shared->used, shared->used + bytes);
  data_ = {reinterpret_cast<float*>(begin), Free{.mapped = bytes, .mapping = std::move(shared)}};
  size_ = size;
}

void Buffer::Free::operator()(float* p) const {
  if (mapping) {  // give its whole pages back now: the mapping may live much longer
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

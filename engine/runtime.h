// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace spdlog {
class logger;
}

namespace bert::engine {

// The number of threads that this process can keep busy: the CPUs in its affinity mask, limited by
// its cgroups' CPU quota.
int usable_threads();
// The size in bytes of a processor's second-level cache, or 1 MiB if the system does not report it.
int64_t second_level_cache();

// Sets the default floating-point environment while it lives, so that an answer has the same bits
// whatever the caller's rounding mode.
class DefaultFloats {
 public:
  DefaultFloats() {
#if defined(__x86_64__)
    // Only the vector unit's, if the x87's is the default: saving both takes half a microsecond.
    uint16_t control;
    asm volatile("fnstcw %0" : "=m"(control));
    is_usual_ = control == kUsualControl;
    if (is_usual_) {
      vectors_ = _mm_getcsr();
      set(kUsualVectors);
      return;
    }
#endif
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloats() {
#if defined(__x86_64__)
    if (is_usual_) {
      set(vectors_);
      return;
    }
#endif
    std::fesetenv(&before_);
  }
  // A number, whose last operation the compiler may otherwise move behind the destructor.
  static float settled(float number) {
    const volatile float copy = number;
    return copy;
  }
  DefaultFloats(const DefaultFloats&) = delete;
  DefaultFloats& operator=(const DefaultFloats&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr uint16_t kUsualControl = 0x37f;
  static constexpr unsigned kUsualVectors = 0x1f80;
  // The clobber keeps accesses to memory on their side of it.
  static void set(unsigned vectors) { asm volatile("ldmxcsr %0" : : "m"(vectors) : "memory"); }

  bool is_usual_ = false;
  unsigned vectors_ = 0;
#endif
  std::fenv_t before_;
};

// The library's diagnostics, on stderr. Silent unless the environment variable BERT_INFER_LOG names
// a spdlog level; level info reports what loading decided, such as which kernels run and why.
spdlog::logger& log();

}  // namespace bert::engine

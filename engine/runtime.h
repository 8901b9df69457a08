// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cfenv>
#include <cstdint>

namespace spdlog {
class logger;
}

namespace bert::engine {

// The number of threads that this process can keep busy: the CPUs in its affinity mask, limited by
// its cgroups' CPU quota.
int usable_threads();
// The bytes of a processor's second-level cache, or 1 MiB if the system does not tell.
int64_t second_level_cache();

// The default floating-point environment, whatever the caller's rounding mode is: an answer is the
// same bits in any.
class DefaultFloats {
 public:
  DefaultFloats() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloats() { std::fesetenv(&before_); }
  DefaultFloats(const DefaultFloats&) = delete;
  DefaultFloats& operator=(const DefaultFloats&) = delete;

 private:
  std::fenv_t before_;
};

// The library's diagnostics, on stderr. Silent unless the environment variable BERT_INFER_LOG names
// a spdlog level; info tells what loading decided, such as which kernels run and why.
spdlog::logger& log();

}  // namespace bert::engine

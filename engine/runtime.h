// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace spdlog {
class logger;
}

namespace bert::engine {

// The number of threads that this process can keep busy: the CPUs in its affinity mask, limited by
// its cgroups' CPU quota.
int usable_threads();

// The library's diagnostics, on stderr. Silent unless the environment variable BERT_INFER_LOG names
// a spdlog level; info tells what loading decided, such as which kernels run and why.
spdlog::logger& log();

}  // namespace bert::engine

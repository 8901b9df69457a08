// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace spdlog {
class logger;
}

namespace bert::engine {

// Threads that this process may really use: its affinity mask, cut by its cgroups' CPU quota.
int usable_threads();

// The library's diagnostics. Silent unless the environment's BERT_INFER_LOG names
// a level: debug tells which kernels were picked.
spdlog::logger& log();

}  // namespace bert::engine

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace bert::tools {

// The files in tools/report/page/.
extern const std::string_view kPageShell, kPageStyle, kCommonScript, kChartsScript, kRegressScript,
    kBenchScript, kEmbeddingsScript, kAttentionScript, kProjectorScript;

}  // namespace bert::tools

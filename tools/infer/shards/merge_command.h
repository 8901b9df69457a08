// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bert::tools {

// bert-infer merge: the answers of all shards in one file, in the order of the input. Returns the
// exit status.
int merge_main(int argc, char** argv);

}  // namespace bert::tools

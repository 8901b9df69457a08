// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bert::tools {

// bert-infer info: loads a model and says what was resolved. argv[0] is "info". Returns the exit
// code.
int info_main(int argc, char** argv);

}  // namespace bert::tools

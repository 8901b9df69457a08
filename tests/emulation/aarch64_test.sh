#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/emulation/aarch64_test.sh BUILD_DIR PYTHON BERT_INFER: builds bert-infer and the tests of
# engine/ for AArch64 in BUILD_DIR, and runs emulation_test.py on them with BERT_INFER as the native
# program.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
packages=$root/build/aarch64-packages
if [[ ! -d $packages ]] || ! command -v aarch64-linux-gnu-g++ qemu-aarch64 > /dev/null; then
  echo "no compiler, emulator or packages for AArch64 (tools/setup --emulation installs them)"
  [[ -n ${BERT_INFER_REQUIRE_EMULATION-} ]] && exit 1 || exit 77
fi
# Compiling is most of what this test takes, so only the kernels and the tests are optimised, by options of
# their own.
cmake -S "$root" -B "$1" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$root/tests/emulation/aarch64.cmake" \
  -DAARCH64_PACKAGES="$packages" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE="-O0 -DNDEBUG" \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16 \
  -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DBUILD_TESTING=ON -DBERT_INFER_SERVE=OFF
cmake --build "$1" --target bert-infer engine_test
exec "$2" "$root/tests/emulation/emulation_test.py" --table portable --native "$3" \
  qemu-aarch64 -L "$packages" -- "$1/bin/bert-infer" "$1/tests/engine_test"

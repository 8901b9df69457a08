#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/engine/aarch64_test.sh BUILD_DIR: the portable kernels and their tests, built for AArch64 and
# run under emulation. Where there is no such compiler, emulator or GoogleTest's source, says that it
# skipped, and exits with 77. (tools/setup --emulation installs them.)
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
compiler=aarch64-linux-gnu-g++
gtest=/usr/src/googletest
for needed in "$compiler" qemu-aarch64; do
  command -v "$needed" > /dev/null || { echo "skipped: no $needed"; exit 77; }
done
[[ -d $gtest ]] || { echo "skipped: no $gtest"; exit 77; }

mkdir -p "$1" && cd "$1"
flags=(-std=c++20 -O1 -I"$root" -Wno-psabi)
for kernels in row matmul quantise attention; do
  "$compiler" "${flags[@]}" -O3 -ffp-contract=fast -DROW_KERNELS=portable \
    -c "$root/engine/${kernels}_kernels.cc"
done
"$compiler" "${flags[@]}" -I"$gtest/googletest" -I"$gtest/googletest/include" \
  -I"$gtest/googlemock/include" "$root"/tests/engine/{row,attention}_kernels_test.cc \
  ./*_kernels.o \
  "$gtest"/googletest/src/gtest{-all,_main}.cc -static -pthread -o row_kernels_test
qemu-aarch64 ./row_kernels_test

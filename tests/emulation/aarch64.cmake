# SPDX-License-Identifier: Apache-2.0
#
# Toolchain file for AArch64, with Debian's packages in AARCH64_PACKAGES (tools/setup --emulation).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES AARCH64_PACKAGES)
set(CMAKE_FIND_ROOT_PATH ${AARCH64_PACKAGES})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# The packages' libraries find their own dependencies beside them.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${AARCH64_PACKAGES}/usr/lib/aarch64-linux-gnu")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-L;${AARCH64_PACKAGES})

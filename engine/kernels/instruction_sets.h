// SPDX-License-Identifier: Apache-2.0
//
// The instruction sets of x86-64 that kernels are compiled for. Kernels include this header too, so
// it holds only constants and declarations (see engine/kernels/vectors.h).
#pragma once

#include <cstdint>

namespace bert::engine {

enum InstructionSet : uint32_t {
  kSse42 = 1 << 0,
  kPopcnt = 1 << 1,
  kAvx = 1 << 2,
  kFma = 1 << 3,
  kF16c = 1 << 4,
  kAvx2 = 1 << 5,
  kAvxVnni = 1 << 6,
  kAvx512F = 1 << 7,
  kAvx512Cd = 1 << 8,
  kAvx512Dq = 1 << 9,
  kAvx512Bw = 1 << 10,
  kAvx512Vl = 1 << 11,
  kAvx512Vnni = 1 << 12,
  kAvx512Bf16 = 1 << 13,
  kAvx512Vbmi2 = 1 << 14,
  kAmxTile = 1 << 15,
  kAmxBf16 = 1 << 16,
  kAmxInt8 = 1 << 17,
};

// The sets that the compiler may use in the including file, whose kernel table declares that it
// needs them. As the list comes from the compiler, no table can declare too few.
constexpr uint32_t kCompiledSets = 0
#if defined(__SSE4_2__)
                                   | kSse42
#endif
#if defined(__x86_64__) && defined(__POPCNT__)
                                   | kPopcnt
#endif
#if defined(__AVX__)
                                   | kAvx
#endif
#if defined(__x86_64__) && defined(__FMA__)
                                   | kFma
#endif
#if defined(__F16C__)
                                   | kF16c
#endif
#if defined(__AVX2__)
                                   | kAvx2
#endif
#if defined(__AVXVNNI__)
                                   | kAvxVnni
#endif
#if defined(__AVX512F__)
                                   | kAvx512F
#endif
#if defined(__AVX512CD__)
                                   | kAvx512Cd
#endif
#if defined(__AVX512DQ__)
                                   | kAvx512Dq
#endif
#if defined(__AVX512BW__)
                                   | kAvx512Bw
#endif
#if defined(__AVX512VL__)
                                   | kAvx512Vl
#endif
#if defined(__AVX512VNNI__)
                                   | kAvx512Vnni
#endif
#if defined(__AVX512BF16__)
                                   | kAvx512Bf16
#endif
#if defined(__AVX512VBMI2__)
                                   | kAvx512Vbmi2
#endif
#if defined(__AMX_TILE__) || defined(__AMXTILE__)  // as Clang 14 spells it
                                   | kAmxTile
#endif
#if defined(__AMX_BF16__) || defined(__AMXBF16__)
                                   | kAmxBf16
#endif
#if defined(__AMX_INT8__) || defined(__AMXINT8__)
                                   | kAmxInt8
#endif
    ;

// The sets that the processor has and the system lets this process use. Asks Linux for permission
// to use AMX, whose state is large.
uint32_t usable_sets();

// As in compiler options, such as "avx512f".
const char* name_of(InstructionSet set);
constexpr int kInstructionSets = 18;  // 1 << 0 to 1 << 17

}  // namespace bert::engine

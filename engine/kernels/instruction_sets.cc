// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/instruction_sets.h"

#include <bit>
#include <iterator>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace bert::engine {

const char* name_of(InstructionSet set) {
  // In the order of their bits.
  constexpr const char* kNames[] = {
      "sse4.2",     "popcnt",     "avx",         "fma",      "f16c",     "avx2",
      "avxvnni",    "avx512f",    "avx512cd",    "avx512dq", "avx512bw", "avx512vl",
      "avx512vnni", "avx512bf16", "avx512vbmi2", "amx-tile", "amx-bf16", "amx-int8"};
  static_assert(std::size(kNames) == kInstructionSets);
  return kNames[std::countr_zero(uint32_t{set})];
}

#if defined(__x86_64__)
namespace {

struct Cpuid {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  Cpuid(unsigned leaf, unsigned subleaf) {
    if (!__get_cpuid_count(leaf, subleaf, &eax, &ebx, &ecx, &edx)) eax = ebx = ecx = edx = 0;
  }
};

// The registers that the system saves on a context switch (XCR0).
uint64_t saved_registers(bool has_xgetbv) {
  if (!has_xgetbv) return 0;
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

bool may_use_tiles() {
  constexpr long kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

}  // namespace

// Intel's manual, volume 2A, CPUID, and volume 1, section 13.3 (XCR0).
uint32_t usable_sets() {
  const Cpuid first(1, 0), seventh(7, 0), seventh_1(7, 1);
  const auto bit = [](unsigned of, int i) { return (of >> i & 1) != 0; };
  const uint64_t saved = saved_registers(bit(first.ecx, 27));
  constexpr uint64_t kYmm = 0x6, kZmm = 0xe6, kTiles = 0x60000;
  const bool ymm = (saved & kYmm) == kYmm, zmm = (saved & kZmm) == kZmm;
  const bool tiles = (saved & kTiles) == kTiles && bit(seventh.edx, 24) && may_use_tiles();
  const struct {
    InstructionSet set;
    bool usable;
  } sets[] = {
      {kSse42, bit(first.ecx, 20)},
      {kPopcnt, bit(first.ecx, 23)},
      {kAvx, ymm && bit(first.ecx, 28)},
      {kFma, ymm && bit(first.ecx, 12)},
      {kF16c, ymm && bit(first.ecx, 29)},
      {kAvx2, ymm && bit(seventh.ebx, 5)},
      {kAvxVnni, ymm && bit(seventh_1.eax, 4)},
      {kAvx512F, zmm && bit(seventh.ebx, 16)},
      {kAvx512Cd, zmm && bit(seventh.ebx, 28)},
      {kAvx512Dq, zmm && bit(seventh.ebx, 17)},
      {kAvx512Bw, zmm && bit(seventh.ebx, 30)},
      {kAvx512Vl, zmm && bit(seventh.ebx, 31)},
      {kAvx512Vnni, zmm && bit(seventh.ecx, 11)},
      {kAvx512Bf16, zmm && bit(seventh_1.eax, 5)},
      {kAvx512Vbmi2, zmm && bit(seventh.ecx, 6)},
      {kAmxTile, tiles},
      {kAmxBf16, tiles && bit(seventh.edx, 22)},
      {kAmxInt8, tiles && bit(seventh.edx, 25)},
  };
  uint32_t usable = 0;
  for (const auto& [set, is_usable] : sets) {
    if (is_usable) usable |= set;
  }
  return usable;
}
#else
uint32_t usable_sets() { return 0; }
#endif

}  // namespace bert::engine

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace bert::models {

// CRC-32 with Castagnoli's polynomial, as in RFC 3720 appendix B.4: "123456789" gives e3069283.
uint32_t crc32c(std::span<const std::byte> bytes);
uint32_t crc32c_portable(std::span<const std::byte> bytes);  // the same, without the instruction

// LevelDB's and TensorFlow's files store a checksum rotated and shifted, so that the checksum of
// data that holds checksums stays a good one.
uint32_t unmasked_crc32c(uint32_t stored);

}  // namespace bert::models

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace bert::models {

// CRC-32 with Castagnoli's polynomial (RFC 3720, appendix B.4): "123456789" gives e3069283.
uint32_t crc32c(std::span<const std::byte> bytes);
uint32_t crc32c_portable(std::span<const std::byte> bytes);  // the same without SSE4.2

// Undoes the rotation and offset with which LevelDB and TensorFlow store checksums, because a CRC
// of data that contains CRCs is weak.
uint32_t unmasked_crc32c(uint32_t stored);

}  // namespace bert::models

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32.hpp>

#include <cstdint>

// The checksums of 32 bits that numcodecs has beside crc32c.
namespace zarrpoint { inline namespace v0 {

/// The CRC-32 of IEEE 802.3, as in zlib and gzip (RFC 1952, section 8).
std::uint32_t crc32(bytes_view data) noexcept;

/// Adler-32 (RFC 1950, section 8).
std::uint32_t adler32(bytes_view data) noexcept;

/// Fletcher's checksum as HDF5 has it: over 16-bit words, big-endian, the last byte of an odd
/// number being a high half. Carries are folded, so that a sum may be 65535 where arithmetic modulo
/// 65535 says 0.
std::uint32_t fletcher32(bytes_view data) noexcept;

/// Bob Jenkins' hash lookup3 of bytes ("hashlittle"), with the seed `initial`.
std::uint32_t jenkins_lookup3(bytes_view data, std::uint32_t initial = 0) noexcept;

}}  // namespace zarrpoint::v0

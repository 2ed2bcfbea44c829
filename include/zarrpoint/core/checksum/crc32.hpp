// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>

#include <cstdint>

// The checksum of zip members and of the codec `numcodecs.crc32`: CRC-32 of ISO 3309, reflected, as
// zlib's `crc32`.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Continues a CRC-32: `crc` is that of the bytes before, 0 at the start. By folding where the CPU
/// multiplies without carries, else 16 bytes a step by table.
std::uint32_t crc32(std::uint32_t crc, bytes_view bytes) noexcept;

/// By table, of the register as it is: the complement of the checksum.
std::uint32_t crc32_table(std::uint32_t state, bytes_view bytes) noexcept;

/// The CRC-32 of two pieces, one after the other, from theirs and the size of the second.
std::uint32_t crc32_combine(std::uint32_t first, std::uint32_t second,
                            std::uint64_t second_size) noexcept;

}}}  // namespace zarrpoint::v0::detail

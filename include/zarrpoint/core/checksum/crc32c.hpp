// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32c_table.hpp>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// The implementations of `crc32c`.
enum class crc32c_kernel : std::uint8_t {
  automatic,  ///< the fastest that this CPU has
  table,      ///< 3 GB/s; everywhere
  sse42,      ///< 20 to 30 GB/s; x86 since 2010
  avx512,     ///< 60 GB/s in cache; Ice Lake, Zen 4 and later
};

/// Makes every later `crc32c` of the process use one implementation; false, and no change, when
/// this CPU cannot run it. For tests and measurements.
bool use_crc32c_kernel(crc32c_kernel kernel) noexcept;

}  // namespace detail

/// The CRC-32C of `data` (RFC 3720): "123456789" gives 0xe3069283. With the checksum of what came
/// before as `seed`, that of both together.
std::uint32_t crc32c(bytes_view data, std::uint32_t seed = 0) noexcept;

namespace detail {

/// The CRC-32C of A followed by B, from those of A and of B and the bytes of B; O(log(b_size)).
constexpr std::uint32_t crc32c_combine(std::uint32_t a, std::uint32_t b,
                                       std::uint64_t b_size) noexcept {
  std::uint32_t shift = detail::crc32c_power(b_size);
  // Bytes to bits by squaring: 8 * b_size may overflow.
  for (int i = 0; i < 3; ++i) shift = detail::crc32c_multiply(shift, shift);
  return detail::crc32c_multiply(a, shift) ^ b;
}

}  // namespace detail

}}  // namespace zarrpoint::v0

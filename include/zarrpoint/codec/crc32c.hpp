// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/crc32c_avx512.hpp>
#include <zarrpoint/codec/crc32c_sse42.hpp>
#include <zarrpoint/codec/crc32c_table.hpp>
#include <zarrpoint/core/bytes.hpp>

#include <atomic>
#include <cstdint>

namespace zarrpoint::inline v0 {

/// The implementations of `crc32c`.
enum class crc32c_kernel : std::uint8_t {
  automatic,  ///< the fastest that this CPU has
  table,      ///< 3 GB/s; everywhere
  sse42,      ///< 20 to 30 GB/s; x86 since 2010
  avx512,     ///< 60 GB/s in cache; Ice Lake, Zen 4 and later
};

namespace detail {

using crc32c_function = std::uint32_t (*)(std::uint32_t, const std::byte*, std::size_t) noexcept;

/// The kernel, or null when this CPU cannot run it.
inline crc32c_function find_crc32c(crc32c_kernel kernel) noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
  const bool any = kernel == crc32c_kernel::automatic;
  if ((any || kernel == crc32c_kernel::avx512) && has_crc32c_avx512()) return crc32c_avx512;
  if ((any || kernel == crc32c_kernel::sse42) && has_crc32c_sse42()) return crc32c_sse42;
#endif
  const bool portable = kernel == crc32c_kernel::automatic || kernel == crc32c_kernel::table;
  return portable ? crc32c_table : nullptr;
}

inline std::uint32_t crc32c_first_call(std::uint32_t state, const std::byte* data,
                                       std::size_t size) noexcept;

/// Chosen at the first call. Relaxed: every value is a good one.
inline constinit std::atomic<crc32c_function> crc32c_chosen{crc32c_first_call};

inline std::uint32_t crc32c_first_call(std::uint32_t state, const std::byte* data,
                                       std::size_t size) noexcept {
  const crc32c_function chosen = find_crc32c(crc32c_kernel::automatic);
  crc32c_chosen.store(chosen, std::memory_order_relaxed);
  return chosen(state, data, size);
}

}  // namespace detail

/// Makes every later `crc32c` of the process use one implementation; false, and no change, when
/// this CPU cannot run it. For tests and measurements.
inline bool use_crc32c_kernel(crc32c_kernel kernel) noexcept {
  const detail::crc32c_function found = detail::find_crc32c(kernel);
  if (found == nullptr) return false;
  detail::crc32c_chosen.store(found, std::memory_order_relaxed);
  return true;
}

/// The CRC-32C of `data` (RFC 3720): "123456789" gives 0xe3069283. With the checksum of what came
/// before as `seed`, that of both together.
inline std::uint32_t crc32c(bytes_view data, std::uint32_t seed = 0) noexcept {
  return ~detail::crc32c_chosen.load(std::memory_order_relaxed)(~seed, data.data(), data.size());
}

/// The CRC-32C of A followed by B, from those of A and of B and the bytes of B; O(log(b_size)).
constexpr std::uint32_t crc32c_combine(std::uint32_t a, std::uint32_t b,
                                       std::uint64_t b_size) noexcept {
  std::uint32_t shift = detail::crc32c_power(b_size);
  // Bytes to bits by squaring: 8 * b_size may overflow.
  for (int i = 0; i < 3; ++i) shift = detail::crc32c_multiply(shift, shift);
  return detail::crc32c_multiply(a, shift) ^ b;
}

}  // namespace zarrpoint::inline v0

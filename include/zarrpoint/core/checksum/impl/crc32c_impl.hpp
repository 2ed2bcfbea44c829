// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/checksum/crc32c_avx512.hpp>
#include <zarrpoint/core/checksum/crc32c_sse42.hpp>
#include <zarrpoint/core/checksum/crc32c_table.hpp>

#include <atomic>
#include <cstdint>

namespace zarrpoint { inline namespace v0 {

namespace detail {

using crc32c_function = std::uint32_t (*)(std::uint32_t, const std::byte*, std::size_t) noexcept;

/// The kernel, or null when this CPU cannot run it.
ZARRPOINT_INLINE crc32c_function find_crc32c(crc32c_kernel kernel) noexcept {
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

ZARRPOINT_INLINE std::uint32_t crc32c_first_call(std::uint32_t state, const std::byte* data,
                                                 std::size_t size) noexcept {
  const crc32c_function chosen = find_crc32c(crc32c_kernel::automatic);
  crc32c_chosen.store(chosen, std::memory_order_relaxed);
  return chosen(state, data, size);
}

ZARRPOINT_INLINE bool use_crc32c_kernel(crc32c_kernel kernel) noexcept {
  const detail::crc32c_function found = detail::find_crc32c(kernel);
  if (found == nullptr) return false;
  detail::crc32c_chosen.store(found, std::memory_order_relaxed);
  return true;
}

}  // namespace detail

ZARRPOINT_INLINE std::uint32_t crc32c(bytes_view data, std::uint32_t seed) noexcept {
  return ~detail::crc32c_chosen.load(std::memory_order_relaxed)(~seed, data.data(), data.size());
}

}}  // namespace zarrpoint::v0

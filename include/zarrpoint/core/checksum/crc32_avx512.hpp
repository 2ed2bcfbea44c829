// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/checksum/crc32_pclmul.hpp>
#include <zarrpoint/core/checksum/crc32c_avx512.hpp>

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__)

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The vectors of CRC-32C with the polynomial of CRC-32.
struct crc32_avx512_ops : crc32c_avx512_ops {
  static std::uint32_t finish(std::uint32_t state, const std::byte* data,
                              std::size_t size) noexcept {
    return crc32_short(state, data, size);
  }
  static constexpr crc32c_fold_factors fold_by(std::uint64_t bytes) noexcept {
    return {crc32_power(8 * bytes + 64 - 33), crc32_power(8 * bytes - 33)};
  }
};

/// For CPUs with AVX-512 and VPCLMULQDQ. Of the register as it is.
[[gnu::target("avx512f,vpclmulqdq")]] inline std::uint32_t crc32_avx512(std::uint32_t state,
                                                                        bytes_view bytes) noexcept {
  return crc32c_fold<crc32_avx512_ops>(state, bytes.data(), bytes.size());
}

}}}  // namespace zarrpoint::v0::detail

#endif

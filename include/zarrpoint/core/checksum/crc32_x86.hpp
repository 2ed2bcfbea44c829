// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checksum/crc32.hpp>
#include <zarrpoint/core/checksum/crc32c_x86.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

// CRC-32: polynomials over GF(2) modulo P of degree 32, bits reflected, so that bit 31 of a word is
// the coefficient of x^0.

/// P without x^32.
inline constexpr std::uint32_t crc32_polynomial = 0xedb88320;

/// `a * b` modulo P.
constexpr std::uint32_t crc32_multiply(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t product = 0;
  for (std::uint32_t mask = std::uint32_t{1} << 31; mask != 0; mask >>= 1) {
    if ((a & mask) != 0) product ^= b;
    b = (b & 1U) != 0 ? b >> 1 ^ crc32_polynomial : b >> 1;
  }
  return product;
}

/// `x^n` modulo P.
constexpr std::uint32_t crc32_power(std::uint64_t n) noexcept {
  std::uint32_t result = std::uint32_t{1} << 31;
  std::uint32_t square = std::uint32_t{1} << 30;
  for (; n != 0; n >>= 1) {
    if ((n & 1U) != 0) result = crc32_multiply(result, square);
    square = crc32_multiply(square, square);
  }
  return result;
}

#if defined(__x86_64__) && defined(__GNUC__)

/// Folds `size` bytes, a multiple of `Lanes` * 16 and not 0, and the register before them into that
/// many bytes with the same remainder. It takes so many lanes of 16 at a time (Gopal et al., "Fast
/// CRC Computation Using PCLMULQDQ", Intel 2009). What moves a lane further from the end is a
/// factor for each of its words, as `crc32c_fold_factors` has them.
template <std::size_t Lanes>
[[gnu::target("sse2,pclmul")]] inline void crc32_fold(std::uint32_t state, const std::byte* data,
                                                      std::size_t size, std::byte* out) noexcept {
  using lane = long long __attribute__((vector_size(16)));
  constexpr std::size_t width = 16 * Lanes;
  constexpr std::uint32_t first = crc32_power(8 * width + 64 - 33);
  constexpr std::uint32_t second = crc32_power(8 * width - 33);
  const lane factors{first, second};
  lane lanes[Lanes];
  std::memcpy(lanes, data, width);
  lanes[0] ^= lane{state, 0};
  for (std::size_t done = width; done < size; done += width) {
    for (std::size_t i = 0; i < Lanes; ++i) {
      lane next;
      std::memcpy(&next, data + done + 16 * i, sizeof next);
      lane low = lanes[i];
      lane high = lanes[i];
      __asm__("pclmulqdq $0x00, %1, %0" : "+x"(low) : "x"(factors));
      __asm__("pclmulqdq $0x11, %1, %0" : "+x"(high) : "x"(factors));
      lanes[i] = low ^ high ^ next;
    }
  }
  std::memcpy(out, lanes, width);
}

std::uint32_t crc32_table(std::uint32_t state, bytes_view bytes) noexcept;  // of crc32.hpp

/// Of the register as it is: all but 16 bytes and the last 15 are folded, for which the table has
/// the whole first cache to look through.
inline std::uint32_t crc32_short(std::uint32_t state, const std::byte* data,
                                 std::size_t size) noexcept {
  constexpr std::size_t width = 16;
  const std::size_t folded = size / width * width;
  if (folded != 0) {
    std::byte rest[width];
    crc32_fold<1>(state, data, folded, rest);
    state = crc32_table(0, rest);
  }
  return crc32_table(state, {data + folded, size - folded});
}

#endif

}}}  // namespace zarrpoint::v0::detail

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

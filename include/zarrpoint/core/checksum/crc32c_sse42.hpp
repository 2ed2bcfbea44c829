// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checksum/crc32c_table.hpp>
#include <zarrpoint/core/checksum/x86_features.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)

namespace zarrpoint { inline namespace v0 { namespace detail {

// Compiler builtins and not <nmmintrin.h>: headers that every user parses stay small.

[[gnu::target("sse4.2")]] inline std::uint64_t crc32c_step8(std::uint64_t state,
                                                            const std::byte* data) noexcept {
  unsigned long long word;
  std::memcpy(&word, data, sizeof word);
  return __builtin_ia32_crc32di(state, word);
}

/// One stream of the crc32 instruction: three cycles a word.
[[gnu::target("sse4.2")]] inline std::uint32_t crc32c_single(std::uint32_t state,
                                                             const std::byte* data,
                                                             std::size_t size) noexcept {
  std::uint64_t wide = state;
  for (; size >= 8; size -= 8, data += 8) wide = crc32c_step8(wide, data);
  state = static_cast<std::uint32_t>(wide);
  for (; size != 0; --size)
    state = __builtin_ia32_crc32qi(state, static_cast<unsigned char>(*data++));
  return state;
}

/// `state * x^(8 * Bytes)` for a constant distance: the register after as many zero bytes.
template <std::size_t Bytes>
[[gnu::target("sse4.2,pclmul")]] std::uint32_t crc32c_advance(std::uint64_t state) noexcept {
  // The carry-less product of two reflected words is one bit short of 64, hence - 33; the crc32
  // instruction then multiplies by x^32 as it reduces.
  using vector = long long __attribute__((vector_size(16)));
  constexpr std::uint32_t factor = crc32c_power(8 * Bytes - 33);
  const vector a = {static_cast<long long>(state), 0};
  const vector b = {static_cast<long long>(factor), 0};
  const vector product = __builtin_ia32_pclmulqdq128(a, b, 0);
  return static_cast<std::uint32_t>(
      __builtin_ia32_crc32di(0, static_cast<unsigned long long>(product[0])));
}

/// Blocks of three lanes of `Lane` bytes, whose latencies hide one another.
template <std::size_t Lane>
[[gnu::target("sse4.2,pclmul")]] std::uint32_t crc32c_three(std::uint32_t state,
                                                            const std::byte*& data,
                                                            std::size_t& size) noexcept {
  for (; size >= 3 * Lane; size -= 3 * Lane, data += 3 * Lane) {
    std::uint64_t a = state;
    std::uint64_t b = 0;
    std::uint64_t c = 0;
    for (std::size_t i = 0; i < Lane; i += 8) {
      a = crc32c_step8(a, data + i);
      b = crc32c_step8(b, data + Lane + i);
      c = crc32c_step8(c, data + 2 * Lane + i);
    }
    state = crc32c_advance<2 * Lane>(a) ^ crc32c_advance<Lane>(b) ^ static_cast<std::uint32_t>(c);
  }
  return state;
}

/// Three interleaved streams, for CPUs with SSE4.2 and PCLMULQDQ: 2010 and later.
[[gnu::target("sse4.2,pclmul")]] inline std::uint32_t crc32c_sse42(std::uint32_t state,
                                                                   const std::byte* data,
                                                                   std::size_t size) noexcept {
  state = crc32c_three<4096>(state, data, size);
  state = crc32c_three<512>(state, data, size);
  state = crc32c_three<64>(state, data, size);
  return crc32c_single(state, data, size);
}

inline bool has_crc32c_sse42() noexcept { return x86_features::of_this_cpu().sse42_pclmul; }

}}}  // namespace zarrpoint::v0::detail

#endif

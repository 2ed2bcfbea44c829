// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checksum/crc32c_fold.hpp>
#include <zarrpoint/core/checksum/crc32c_sse42.hpp>
#include <zarrpoint/core/checksum/x86_features.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Folding with four carry-less products an instruction. Assembly and not intrinsics, since
/// <immintrin.h> takes half a second to compile.
struct crc32c_avx512_ops {
  using vector = long long __attribute__((vector_size(64)));

  [[gnu::target("avx512f")]] static void load(vector& to, const std::byte* from) noexcept {
    std::memcpy(&to, from, sizeof to);
  }
  [[gnu::target("avx512f")]] static void store(std::byte* to, const vector& from) noexcept {
    std::memcpy(to, &from, sizeof from);
  }
  [[gnu::target("avx512f")]] static void broadcast(vector& to,
                                                   crc32c_fold_factors factors) noexcept {
    const auto a = static_cast<long long>(factors.first);
    const auto b = static_cast<long long>(factors.second);
    to = vector{a, b, a, b, a, b, a, b};
  }
  [[gnu::target("avx512f,vpclmulqdq")]] static void fold(vector& accumulator, const vector& factors,
                                                         const vector& next) noexcept {
    vector first;
    vector second;
    __asm__("vpclmulqdq $0x00, %2, %1, %0" : "=v"(first) : "v"(accumulator), "v"(factors));
    __asm__("vpclmulqdq $0x11, %2, %1, %0" : "=v"(second) : "v"(accumulator), "v"(factors));
    accumulator = first ^ second ^ next;
  }
  static std::uint32_t finish(std::uint32_t state, const std::byte* data,
                              std::size_t size) noexcept {
    return crc32c_sse42(state, data, size);
  }
  static constexpr crc32c_fold_factors fold_by(std::uint64_t bytes) noexcept {
    return crc32c_fold_by(bytes);
  }
};

/// For CPUs with AVX-512 and VPCLMULQDQ: Ice Lake, Zen 4 and later.
[[gnu::target("avx512f,vpclmulqdq")]] inline std::uint32_t crc32c_avx512(
    std::uint32_t state, const std::byte* data, std::size_t size) noexcept {
  // Below this three streams of the crc32 instruction are as fast.
  constexpr std::size_t worthwhile = 256;
  if (size < worthwhile) return crc32c_sse42(state, data, size);
  return crc32c_fold<crc32c_avx512_ops>(state, data, size);
}

inline bool has_crc32c_avx512() noexcept {
  const x86_features cpu = x86_features::of_this_cpu();
  return cpu.sse42_pclmul && cpu.avx512f_vpclmulqdq;
}

}}}  // namespace zarrpoint::v0::detail

#endif

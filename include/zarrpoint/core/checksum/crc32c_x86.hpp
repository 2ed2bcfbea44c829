// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32c_table.hpp>
#include <zarrpoint/core/checksum/x86_features.hpp>

#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)

namespace zarrpoint { inline namespace v0 { namespace detail {

// Compiler builtins and not <nmmintrin.h>: headers that every user parses stay small.

[[gnu::target("sse4.2,crc32")]] inline std::uint64_t crc32c_step8(std::uint64_t state,
                                                                  const std::byte* data) noexcept {
  unsigned long long word;
  std::memcpy(&word, data, sizeof word);
  return __builtin_ia32_crc32di(state, word);
}

/// One stream of the crc32 instruction: three cycles a word.
[[gnu::target("sse4.2,crc32")]] inline std::uint32_t crc32c_single(std::uint32_t state,
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
[[gnu::target("sse4.2,crc32,pclmul")]] std::uint32_t crc32c_advance(std::uint64_t state) noexcept {
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
[[gnu::target("sse4.2,crc32,pclmul")]] std::uint32_t crc32c_three(std::uint32_t state,
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
[[gnu::target("sse4.2,crc32,pclmul")]] inline std::uint32_t crc32c_sse42(
    std::uint32_t state, const std::byte* data, std::size_t size) noexcept {
  state = crc32c_three<4096>(state, data, size);
  state = crc32c_three<512>(state, data, size);
  state = crc32c_three<64>(state, data, size);
  return crc32c_single(state, data, size);
}

inline bool has_crc32c_sse42() noexcept { return x86_features::of_this_cpu().sse42_pclmul; }

}}}  // namespace zarrpoint::v0::detail

#endif

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What moves a lane of 16 bytes `bytes` further from the end of a message: factors for its first
/// and its second word. A carry-less product of a reflected word of 64 bits and one of 32 stands 33
/// bits low in the 128 of the lane. The first word is worth x^64 more than the second.
struct crc32c_fold_factors {
  std::uint64_t first;
  std::uint64_t second;
};
constexpr crc32c_fold_factors crc32c_fold_by(std::uint64_t bytes) noexcept {
  return {crc32c_power(8 * bytes + 64 - 33), crc32c_power(8 * bytes - 33)};
}

/// The CRC of 64 bytes and more by folding (Gopal et al., "Fast CRC Computation Using PCLMULQDQ",
/// Intel 2009). Four accumulators of 64 bytes, each four lanes, stand for a message of 256 bytes
/// with the remainder of all that went before. Then one stands for 64.
///
/// `Ops` has the type `vector`, of 64 bytes, and on vectors by reference:
/// - `load(to, bytes)`, `store(bytes, from)`: 64 bytes, of any alignment;
/// - `broadcast(to, factors)`: the pair into every lane;
/// - `fold(accumulator, factors, next)`: in every lane, first word * first factor xor second word *
///   second factor xor `next`;
/// - `finish(state, data, size)`: any kernel, for what is left;
/// - `fold_by(bytes)`: as `crc32c_fold_by`, of the polynomial that `finish` is of.
/// Inlined into a caller that is compiled for the instructions of `Ops`.
template <class Ops>
[[gnu::always_inline]] inline std::uint32_t crc32c_fold(std::uint32_t state, const std::byte* data,
                                                        std::size_t size) noexcept {
  constexpr std::size_t width = 64;
  constexpr crc32c_fold_factors near = Ops::fold_by(width);
  constexpr crc32c_fold_factors far = Ops::fold_by(4 * width);
  if (size < width) return Ops::finish(state, data, size);

  std::byte block[width];
  std::memcpy(block, data, width);
  store_le<std::uint32_t>(block, load_le<std::uint32_t>(block) ^ state);
  typename Ops::vector a, b, c, d, next, factors;
  Ops::load(a, block);
  std::size_t done = width;
  if (size >= 4 * width) {
    Ops::load(b, data + width);
    Ops::load(c, data + 2 * width);
    Ops::load(d, data + 3 * width);
    Ops::broadcast(factors, far);
    for (done = 4 * width; size - done >= 4 * width; done += 4 * width) {
      Ops::load(next, data + done);
      Ops::fold(a, factors, next);
      Ops::load(next, data + done + width);
      Ops::fold(b, factors, next);
      Ops::load(next, data + done + 2 * width);
      Ops::fold(c, factors, next);
      Ops::load(next, data + done + 3 * width);
      Ops::fold(d, factors, next);
    }
    Ops::broadcast(factors, near);
    Ops::fold(a, factors, b);
    Ops::fold(a, factors, c);
    Ops::fold(a, factors, d);
  } else {
    Ops::broadcast(factors, near);
  }
  for (; size - done >= width; done += width) {
    Ops::load(next, data + done);
    Ops::fold(a, factors, next);
  }
  Ops::store(block, a);
  return Ops::finish(Ops::finish(0, block, width), data + done, size - done);
}

}}}  // namespace zarrpoint::v0::detail

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

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checksum/x86_features.hpp>
#include <zarrpoint/memory/cast_x86.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zarrpoint { inline namespace v0 { namespace detail {

#if defined(__x86_64__) && defined(__GNUC__)

// Vectors of the compiler and its builtins, and not <immintrin.h>, which takes half a second to
// compile.
/// What the casts share: 16 elements at a time, as two vectors of 8.
struct cast_avx2 {
  using halves = short __attribute__((vector_size(16), may_alias));
  using words = std::uint32_t __attribute__((vector_size(32), may_alias));
  using floats = float __attribute__((vector_size(32)));

  static constexpr std::size_t step = 16;

  template <class Vector>
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline void load(
      Vector& to, const std::byte* from) noexcept {
    std::memcpy(&to, from, sizeof to);
  }
  template <bool Streamed, class Vector>
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline void store(
      std::byte* to, const Vector& from) noexcept {
    if constexpr (Streamed) {
      __asm__("vmovntdq %1, %0" : "=m"(*reinterpret_cast<Vector*>(to)) : "x"(from));
    } else {
      std::memcpy(to, &from, sizeof from);
    }
  }
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline void widen(
      words& to, const std::byte* from) noexcept {
    using unsigned_halves = std::uint16_t __attribute__((vector_size(16)));
    unsigned_halves narrow;
    load(narrow, from);
    to = __builtin_convertvector(narrow, words);
  }
};

struct cast_from_bfloat16 : cast_avx2 {
  static constexpr std::size_t to_size = 4;
  static constexpr std::size_t from_size = 2;
  template <bool Streamed>
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline void cast(
      std::byte* to, const std::byte* from) noexcept {
    for (int i = 0; i < 2; ++i) {
      words wide;
      widen(wide, from + 16 * i);
      store<Streamed>(to + 32 * i, wide << 16);
    }
  }
};

struct cast_to_bfloat16 : cast_avx2 {
  static constexpr std::size_t to_size = 2;
  static constexpr std::size_t from_size = 4;
  using signed_words = std::int32_t __attribute__((vector_size(32)));
  using quads = long long __attribute__((vector_size(32)));
  template <bool Streamed>
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline void cast(
      std::byte* to, const std::byte* from) noexcept {
    words both[2];
    words rounded[2];
    signed_words is_nan[2];
    for (int i = 0; i < 2; ++i) {
      load(both[i], from + 32 * i);
      rounded[i] = (both[i] + 0x7fff + (both[i] >> 16 & 1)) >> 16;
      is_nan[i] = reinterpret_cast<signed_words>(both[i] & 0x7fffffff) > 0x7f800000;
    }
    const auto any = reinterpret_cast<quads>(is_nan[0] | is_nan[1]);
    if (__builtin_ia32_ptestz256(any, any) == 0) [[unlikely]] {
      for (int i = 0; i < 2; ++i) {
        const auto nan = reinterpret_cast<words>(is_nan[i]);
        rounded[i] = ((both[i] >> 16 | 0x40) & nan) | (rounded[i] & ~nan);
      }
    }
    // The instruction packs within each half of the vectors; the second puts the quarters in order.
    const auto mixed = reinterpret_cast<quads>(__builtin_ia32_packusdw256(
        reinterpret_cast<signed_words>(rounded[0]), reinterpret_cast<signed_words>(rounded[1])));
    store<Streamed>(to, reinterpret_cast<words>(__builtin_ia32_permdi256(mixed, 0b11'01'10'00)));
  }
};

struct cast_from_float16 : cast_avx2 {
  static constexpr std::size_t to_size = 4;
  static constexpr std::size_t from_size = 2;
  template <bool Streamed>
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline void cast(
      std::byte* to, const std::byte* from) noexcept {
    for (int i = 0; i < 2; ++i) {
      halves narrow;
      load(narrow, from + 16 * i);
      auto wide = reinterpret_cast<words>(__builtin_ia32_vcvtph2ps256(narrow));
      // The instruction makes NaNs quiet; `convert` lets their bits be.
      using pair = long long __attribute__((vector_size(16)));
      const auto special = reinterpret_cast<pair>((narrow & 0x7c00) == 0x7c00);
      if ((special[0] | special[1]) != 0) [[unlikely]] {
        words bits;
        widen(bits, from + 16 * i);
        const words kept = (bits & 0x8000) << 16 | (bits & 0x7fff) << 13 | 0x7f800000;
        const auto is_special = reinterpret_cast<words>((bits & 0x7c00) == 0x7c00);
        wide = (kept & is_special) | (wide & ~is_special);
      }
      store<Streamed>(to + 32 * i, wide);
    }
  }
};

struct cast_to_float16 : cast_avx2 {
  static constexpr std::size_t to_size = 2;
  static constexpr std::size_t from_size = 4;
  template <bool Streamed>
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static inline void cast(
      std::byte* to, const std::byte* from) noexcept {
    constexpr int to_nearest_even = 0;
    for (int i = 0; i < 2; ++i) {
      floats wide;
      load(wide, from + 32 * i);
      store<Streamed>(to + 16 * i,
                      static_cast<halves>(__builtin_ia32_vcvtps2ph256(wide, to_nearest_even)));
    }
  }
};

template <class Cast>
[[gnu::target("avx2,f16c")]] std::size_t cast_run(std::byte* to, const std::byte* from,
                                                  std::size_t count) noexcept {
  constexpr std::size_t step = Cast::step;
  constexpr std::size_t line = 32;
  const std::size_t past = reinterpret_cast<std::uintptr_t>(to) % line;
  std::size_t i = 0;
  if (count >= streamed_cast_bytes / Cast::to_size && past % Cast::to_size == 0) {
    // Up to the first aligned element, and some of what is cast again.
    Cast::template cast<false>(to, from);
    i = (line - past) % line / Cast::to_size;
    for (; count - i >= step; i += step)
      Cast::template cast<true>(to + i * Cast::to_size, from + i * Cast::from_size);
    __asm__ volatile("sfence" ::: "memory");
  }
  for (; count - i >= step; i += step)
    Cast::template cast<false>(to + i * Cast::to_size, from + i * Cast::from_size);
  return i;
}

ZARRPOINT_INLINE dense_cast choose_dense_cast(const dtype& to, const dtype& from) noexcept {
  using enum dtype_kind;
  const bool widens = to == float32;
  if (!widens && from != float32) return nullptr;
  const dtype& narrow = widens ? from : to;
  if (narrow != bfloat16 && narrow != float16) return nullptr;
  static const bool has_vectors = x86_features::of_this_cpu().avx2_f16c;
  if (!has_vectors) return nullptr;
  if (narrow == bfloat16) return widens ? cast_run<cast_from_bfloat16> : cast_run<cast_to_bfloat16>;
  return widens ? cast_run<cast_from_float16> : cast_run<cast_to_float16>;
}

#else

ZARRPOINT_INLINE dense_cast choose_dense_cast(const dtype&, const dtype&) noexcept {
  return nullptr;
}

#endif

}}}  // namespace zarrpoint::v0::detail

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>

#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__)

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What the CPU says of itself, and whether the system saves its wide registers. By the instruction
/// itself, since `__builtin_cpu_supports` takes 5 KiB of libgcc, which knows every model by name.
struct x86_features {
  bool sse42_pclmul = false;
  bool avx512f_vpclmulqdq = false;
  bool avx2_f16c = false;

  static x86_features of_this_cpu() noexcept;

 private:
  struct registers {
    std::uint32_t a, b, c, d;
  };
  static registers cpuid(std::uint32_t leaf) noexcept {
    registers out{leaf, 0, 0, 0};
    __asm__ volatile("cpuid" : "+a"(out.a), "=b"(out.b), "+c"(out.c), "=d"(out.d));
    return out;
  }
  static constexpr bool bit(std::uint32_t word, int at) noexcept { return (word >> at & 1U) != 0; }
};

inline x86_features x86_features::of_this_cpu() noexcept {
  x86_features out;
  const std::uint32_t leaves = cpuid(0).a;
  const registers basic = cpuid(1);
  out.sse42_pclmul = bit(basic.c, 20) && bit(basic.c, 1);
  constexpr int osxsave = 27;  // without it XGETBV is an illegal instruction
  if (leaves < 7 || !bit(basic.c, osxsave)) return out;
  std::uint32_t saved = 0;
  __asm__ volatile("xgetbv" : "=a"(saved) : "c"(0) : "edx");
  constexpr std::uint32_t wide = 0xe6;  // SSE, AVX, masks, both parts of the 512-bit registers
  const registers extended = cpuid(7);
  constexpr std::uint32_t registers_256 = 6;  // SSE, AVX
  out.avx2_f16c =
      (saved & registers_256) == registers_256 && bit(basic.c, 29) && bit(extended.b, 5);
  out.avx512f_vpclmulqdq = (saved & wide) == wide && bit(extended.b, 16) && bit(extended.c, 10);
  return out;
}

}}}  // namespace zarrpoint::v0::detail

#endif

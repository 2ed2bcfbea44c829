// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/checksum/x86_features.hpp>

#include <doctest/doctest.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

#if defined(__x86_64__) && defined(__GNUC__)

namespace x86_features_test { namespace {

using zarrpoint::detail::x86_features;

/// Clang 16 has no name for it.
bool supports_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

TEST_CASE("x86_features: what the compiler's own question says") {
  const x86_features cpu = x86_features::of_this_cpu();
  const bool has_crc = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
  const bool has_wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
  const bool has_casts = __builtin_cpu_supports("avx2") && supports_f16c();
  CHECK(cpu.sse42_pclmul == has_crc);
  CHECK(cpu.avx2_f16c == has_casts);
  CHECK(cpu.avx512f_vpclmulqdq == has_wide);
}

}}  // namespace x86_features_test

#endif

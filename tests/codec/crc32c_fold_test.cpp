// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/checksum/crc32c_x86.hpp>

#include "support/crc32c_reference.hpp"

#include <doctest/doctest.h>

#include <cstring>

namespace crc32c_fold_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

/// The vectors of the AVX-512 kernel in plain C++, so that its algorithm and its factors are
/// tested on every CPU.
struct plain_ops {
  struct vector {
    std::uint64_t words[8];
  };
  static void load(vector& to, const std::byte* from) { std::memcpy(&to, from, sizeof to); }
  static void store(std::byte* to, const vector& from) { std::memcpy(to, &from, sizeof from); }
  static void broadcast(vector& to, zp::detail::crc32c_fold_factors factors) {
    for (std::size_t i = 0; i < 8; i += 2) {
      to.words[i] = factors.first;
      to.words[i + 1] = factors.second;
    }
  }
  static void fold(vector& accumulator, const vector& factors, const vector& next) {
    vector out = next;
    for (std::size_t i = 0; i < 8; ++i)
      multiply(out.words + i / 2 * 2, accumulator.words[i], factors.words[i]);
    accumulator = out;
  }
  static std::uint32_t finish(std::uint32_t state, const std::byte* data, std::size_t size) {
    return zp::detail::crc32c_table(state, data, size);
  }
  static constexpr zp::detail::crc32c_fold_factors fold_by(std::uint64_t bytes) {
    return zp::detail::crc32c_fold_by(bytes);
  }

 private:
  /// Adds the carry-less product of two words to 128 bits.
  static void multiply(std::uint64_t* sum, std::uint64_t a, std::uint64_t b) {
    for (int bit = 0; bit < 64; ++bit) {
      if ((b >> bit & 1) == 0) continue;
      sum[0] ^= a << bit;
      if (bit != 0) sum[1] ^= a >> (64 - bit);
    }
  }
};

#if defined(__x86_64__)
/// The same with the instruction for one lane, four times.
struct lane_ops {
  using lane = long long __attribute__((vector_size(16)));
  struct vector {
    lane lanes[4];
  };
  static void load(vector& to, const std::byte* from) { std::memcpy(&to, from, sizeof to); }
  static void store(std::byte* to, const vector& from) { std::memcpy(to, &from, sizeof from); }
  static void broadcast(vector& to, zp::detail::crc32c_fold_factors factors) {
    for (lane& one : to.lanes)
      one = lane{static_cast<long long>(factors.first), static_cast<long long>(factors.second)};
  }
  [[gnu::target("pclmul")]] static void fold(vector& accumulator, const vector& factors,
                                             const vector& next) {
    for (std::size_t i = 0; i < 4; ++i) {
      const lane& a = accumulator.lanes[i];
      const lane& k = factors.lanes[i];
      accumulator.lanes[i] = __builtin_ia32_pclmulqdq128(a, k, 0x00) ^
                             __builtin_ia32_pclmulqdq128(a, k, 0x11) ^ next.lanes[i];
    }
  }
  static std::uint32_t finish(std::uint32_t state, const std::byte* data, std::size_t size) {
    return zp::detail::crc32c_table(state, data, size);
  }
  static constexpr zp::detail::crc32c_fold_factors fold_by(std::uint64_t bytes) {
    return zp::detail::crc32c_fold_by(bytes);
  }
};
#endif

}  // namespace

TEST_CASE("crc32c_fold: agrees with the definition, in plain C++") {
  check_crc32c_kernel(zp::detail::crc32c_fold<plain_ops>);
}

#if defined(__x86_64__)
TEST_CASE("crc32c_fold: agrees with the definition, with the instruction for one lane") {
  if (!__builtin_cpu_supports("pclmul")) {
    MESSAGE("this CPU has no PCLMULQDQ: not run");
    return;
  }
  check_crc32c_kernel(zp::detail::crc32c_fold<lane_ops>);
}
#endif

TEST_CASE("crc32c_fold_by: the factors that are published for 16 bytes") {
  // "rk" of the Linux kernel's crc32c-pcl-intel-asm_64 and of Intel's isa-l for this polynomial.
  constexpr zp::detail::crc32c_fold_factors factors = zp::detail::crc32c_fold_by(16);
  CHECK(factors.first == 0xf20c0dfe);
  CHECK(factors.second == 0x493c7d27);
}

}  // namespace crc32c_fold_test

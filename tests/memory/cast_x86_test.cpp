// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/convert.hpp>
#include <zarrpoint/memory/cast.hpp>

#include "support/random_layout.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstring>
#include <vector>

namespace cast_x86_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

/// `values` cast at once, from and to places that are `shift` bytes off an aligned one, against
/// `convert` of each, bit by bit; what lies around must stay.
template <class To, class From>
void check(const std::vector<From>& values, std::size_t shift) {
  const zp::detail::dense_cast cast =
      zp::detail::choose_dense_cast(zp::dtype_of<To>, zp::dtype_of<From>);
  if (cast == nullptr) {
    MESSAGE("skipped: this CPU has no AVX2 and F16C");
    return;
  }
  constexpr std::size_t room = 64;
  std::vector<std::byte> from(values.size() * sizeof(From) + shift);
  if (!values.empty()) std::memcpy(from.data() + shift, values.data(), from.size() - shift);
  std::vector<std::byte> actual(values.size() * sizeof(To) + 2 * room, std::byte{0x5a});
  std::vector<std::byte> expected = actual;
  const std::size_t done = cast(actual.data() + room + shift, from.data() + shift, values.size());
  CHECK(done <= values.size());
  CHECK(values.size() - done < 16);
  for (std::size_t i = 0; i < done; ++i) {
    const To one = zp::convert<To>(values[i]);
    std::memcpy(expected.data() + room + shift + i * sizeof(To), &one, sizeof one);
  }
  CAPTURE(values.size());
  CAPTURE(shift);
  REQUIRE((actual == expected));
}

/// Every number of 16 bits, so often that the output is streamed.
template <class Half>
std::vector<Half> all_halves() {
  std::vector<Half> out(zp::detail::streamed_cast_bytes / sizeof(float) + 21);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = Half::from_bits(static_cast<std::uint16_t>(i));
  return out;
}

/// All that lies at and beside the numbers of 16 bits and their middles, and bits of any kind.
template <class Half>
std::vector<float> floats_around() {
  std::vector<float> out;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto at = std::bit_cast<std::uint32_t>(
        static_cast<float>(Half::from_bits(static_cast<std::uint16_t>(bits))));
    constexpr std::uint32_t half_step = std::is_same_v<Half, zp::bfloat16> ? 0x8000 : 0x1000;
    for (const std::uint32_t middle : {at, at + half_step})
      for (const std::uint32_t beside : {middle - 1, middle, middle + 1})
        out.push_back(std::bit_cast<float>(beside));
  }
  random_source random(5);
  for (int i = 0; i < 300'000; ++i)
    out.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  return out;
}

template <class Half>
void check_both_ways() {
  const std::vector<Half> halves = all_halves<Half>();
  const std::vector<float> floats = floats_around<Half>();
  REQUIRE(floats.size() * sizeof(Half) > zp::detail::streamed_cast_bytes);
  for (const std::size_t shift : {0U, 1U, 2U, 4U, 30U}) {
    check<float>(halves, shift);
    check<Half>(floats, shift);
  }
  for (std::size_t count = 0; count < 70; ++count) {
    // From where the NaNs are on.
    check<float>(std::vector<Half>(halves.begin() + 0x7bf0,
                                   halves.begin() + 0x7bf0 + static_cast<std::ptrdiff_t>(count)),
                 count % 3);
    check<Half>(
        std::vector<float>(floats.begin(), floats.begin() + static_cast<std::ptrdiff_t>(count)),
        count % 3);
  }
}

}  // namespace

TEST_CASE("cast_x86: bfloat16 and float32, bit by bit") { check_both_ways<zp::bfloat16>(); }

TEST_CASE("cast_x86: float16 and float32, bit by bit") { check_both_ways<zp::float16>(); }

TEST_CASE("cast_x86: other pairs have no vector code") {
  for (const zp::dtype_kind to : zp::all_dtype_kinds) {
    for (const zp::dtype_kind from : zp::all_dtype_kinds) {
      const bool is_half =
          to == zp::dtype_kind::float32
              ? from == zp::dtype_kind::float16 || from == zp::dtype_kind::bfloat16
              : from == zp::dtype_kind::float32 &&
                    (to == zp::dtype_kind::float16 || to == zp::dtype_kind::bfloat16);
      if (!is_half) CHECK(!zp::detail::choose_dense_cast(zp::dtype(to), zp::dtype(from)));
    }
  }
}

}  // namespace cast_x86_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// clang-format off: before the kernels
#include "cuda/simulated_kernels.hpp"
// clang-format on

#include <zarrpoint/cuda/kernels/cast.cuh>
#include <zarrpoint/memory/cast.hpp>

#include <doctest/doctest.h>

#include <string>

namespace cast_test {

namespace zp = zarrpoint;
namespace kernels = zarrpoint::cuda::detail;
using namespace zarrpoint_test;

namespace {

zp::mutable_host_view run_of(std::byte* at, zp::dtype type, std::size_t count) {
  const zp::dims shape{static_cast<zp::index_t>(count)};
  return {at, type, shape, zp::row_major_strides(shape, type.size()), {}, {}};
}

/// Random bits, and in front what lies at the borders of formats: all bytes, or ones and zeros.
void put_elements(random_source& random, std::byte* at, zp::dtype type, std::size_t count) {
  const std::size_t part = type.component().size();
  const std::size_t bytes = count * type.size();
  for (std::size_t i = 0; i < bytes; ++i) at[i] = static_cast<std::byte>(random() & 0xff);
  if (part == 1) {
    for (std::size_t i = 0; i < bytes && i < 256; ++i) at[i] = static_cast<std::byte>(i);
  }
  for (std::size_t i = 0; part > 1 && i + part <= bytes; i += part) {
    if (pick(random, 4) == 0) continue;
    if (type.component().is_integer() || pick(random, 4) == 0) {
      // Small numbers of both signs, powers of two and what is next to them.
      std::uint64_t value = std::uint64_t{1} << pick(random, 8 * part);
      value = (pick(random, 2) == 0 ? 0 - value : value) + pick(random, 3) - 1;
      std::memcpy(at + i, &value, part);
    } else {
      // Floats whose values the others can hold.
      const double value = (static_cast<double>(pick(random, 4096)) - 2048) / 64;
      const std::uint64_t bits = zp::detail::float_bits(type.component(), value);
      std::memcpy(at + i, &bits, part);
    }
  }
  // The upper bits of small elements are not looked at, and those of bools are not only 0 or 1:
  // cast_elements takes them the same way.
}

/// The bits of a NaN may be any NaN's.
void unify_nans(std::vector<std::byte>& at, zp::dtype type) {
  const zp::dtype part = type.component();
  if (!part.is_floating()) return;
  const std::uint64_t nan = zp::detail::nan_bits(part);
  for (std::size_t i = 0; i + part.size() <= at.size(); i += part.size()) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at.data() + i, part.size());
    const double value = zp::detail::float_value(part, bits);
    if (value != value) std::memcpy(at.data() + i, &nan, part.size());
  }
}

}  // namespace

TEST_CASE("cast kernel: every pair of dtypes as on the host, at random addresses") {
  random_source random(71);
  simulated = {};
  std::size_t pairs = 0;
  for (const zp::dtype_kind to_kind : zp::all_dtype_kinds) {
    for (const zp::dtype_kind from_kind : zp::all_dtype_kinds) {
      const zp::dtype to_type(to_kind);
      const zp::dtype from_type(from_kind);
      if (!to_type.is_number() || !from_type.is_number()) continue;
      ++pairs;
      CAPTURE(std::string(zp::to_string(to_type)));
      CAPTURE(std::string(zp::to_string(from_type)));
      const bool is_direct = kernels::choose_cast(to_kind, from_kind).kernel != nullptr;
      for (int n = 0; n < (is_direct ? 30 : 3); ++n) {
        const std::size_t count = n == 0 ? 600 : pick(random, n % 4 == 1 ? 900 : 40);
        // Aligned as allocations are, to elements, or not at all.
        const std::size_t elements = pick(random, 9);
        const bool is_odd = n % 3 == 2;
        shifted_bytes from(random, count * from_type.size(),
                           is_odd   ? pick(random, 17)
                           : n == 0 ? 0
                                    : elements * from_type.size());
        shifted_bytes to(random, count * to_type.size(),
                         is_odd   ? pick(random, 17)
                         : n == 0 ? 0
                                  : elements * to_type.size());
        put_elements(random, from.data(), from_type, count);
        std::vector<std::byte> expected = to.copy();
        zp::detail::cast_elements(run_of(expected.data(), to_type, count),
                                  run_of(from.data(), from_type, count))
            .value();
        REQUIRE(kernels::cast(nullptr, {to.data(), to_type, from.data(), from_type, count}) ==
                cudaSuccess);
        std::vector<std::byte> actual = to.copy();
        unify_nans(expected, to_type);
        unify_nans(actual, to_type);
        REQUIRE(actual == expected);
      }
    }
  }
  CHECK(pairs == 43 * 43);
}

TEST_CASE("cast kernel: the pairs of its own kernels, and the way of the others") {
  using enum zp::dtype_kind;
  const auto group = [](zp::dtype_kind to, zp::dtype_kind from) {
    const kernels::cast_choice choice = kernels::choose_cast(to, from);
    return choice.kernel == nullptr ? 0 : choice.group;
  };
  CHECK(group(bfloat16, float32) == 4);
  CHECK(group(float32, bfloat16) == 4);
  CHECK(group(float16, bfloat16) == 8);
  CHECK(group(float32, float64) == 2);
  CHECK(group(float8_e4m3fn, bfloat16) == 8);
  CHECK(group(bfloat16, float8_e5m2) == 8);
  CHECK(group(float8_e5m2, float16) == 8);
  CHECK(group(float8_e5m2, float8_e4m3fn) == 0);
  CHECK(group(float8_e5m2, float64) == 0);
  CHECK(group(float32, float32) == 0);
  CHECK(group(int32, float32) == 0);
  CHECK(group(float32, int32) == 0);
  CHECK(kernels::wide_kind_of(bool_) == kernels::wide_kind::int64);
  CHECK(kernels::wide_kind_of(uint64) == kernels::wide_kind::uint64);
  CHECK(kernels::wide_kind_of(float8_e3m4) == kernels::wide_kind::float32);
  CHECK(kernels::wide_kind_of(complex64) == kernels::wide_kind::float32);
  CHECK(kernels::wide_kind_of(complex128) == kernels::wide_kind::float64);
}

TEST_CASE("cast kernel: equal types are copied; what is not a number is refused") {
  simulated = {};
  std::byte to[32]{};
  const std::byte from[32]{};
  const auto cast = [&](zp::dtype to_type, zp::dtype from_type, std::size_t count) {
    return kernels::cast(nullptr, {to, to_type, from, from_type, count});
  };
  using enum zp::dtype_kind;
  CHECK(cast(float32, float32, 8) == cudaSuccess);
  CHECK(cast(zp::dtype::raw_bytes(5), zp::dtype::raw_bytes(5), 6) == cudaSuccess);
  CHECK(simulated.copies == 2);
  CHECK(cast(float32, bfloat16, 0) == cudaSuccess);
  CHECK(simulated.launches == 0);
  CHECK(cast(float32, zp::dtype::raw_bytes(4), 1) == cudaErrorInvalidValue);
  CHECK(cast(zp::dtype::raw_bytes(4), float32, 1) == cudaErrorInvalidValue);
  CHECK(cast(string, string, 1) == cudaErrorInvalidValue);
  CHECK(cast(zp::dtype(), zp::dtype(), 1) == cudaErrorInvalidValue);
  CHECK(cast(zp::dtype::datetime(zp::time_unit::s), int64, 1) == cudaErrorInvalidValue);
  simulated.next_error = cudaErrorLaunchFailure;
  for (const zp::dtype_kind type : {bool_, uint64, float32, float64, complex64, bfloat16, float16})
    CHECK(cast(float8_e5m2, type, 1) == cudaErrorLaunchFailure);
  CHECK(simulated.remembered == cudaSuccess);
}

TEST_CASE("cast kernel: beyond 4 GiB, directly and by way of a wide type") {
  constexpr std::uint64_t count = (std::uint64_t{3} << 29) + 3;
  const sparse_memory to(4 * count);
  const sparse_memory from(4 * count);
  const kernels::thread_place place{kernels::max_blocks - 1, kernels::max_blocks, 99};
  // bfloat16 to float32: groups of 4.
  std::uint64_t steps = 0;
  for (std::uint64_t i = place.first(); i < count / 4; i += place.step(), ++steps)
    zp::store_le<std::uint16_t>(from.data() + 8 * i + 4,
                                static_cast<std::uint16_t>(0x3f80 + steps));
  kernels::cast_directly<float, zp::bfloat16>(to.data(), from.data(), count, place);
  CHECK(steps == 24);
  steps = 0;
  for (std::uint64_t i = place.first(); i < count / 4; i += place.step(), ++steps)
    REQUIRE(zp::load_le<std::uint32_t>(to.data() + 16 * i + 8) == (0x3f80 + steps) << 16);
  // int32 to uint8, one by one.
  zp::device_cast small{to.data(), zp::dtype_kind::uint8, from.data(), zp::dtype_kind::int32,
                        count};
  steps = 0;
  for (std::uint64_t i = place.first(); i < count; i += place.step(), ++steps)
    zp::store_le<std::uint32_t>(from.data() + 4 * i, static_cast<std::uint32_t>(0x100 + steps));
  CHECK(steps == 96);
  kernels::cast_by_way_of<std::int64_t>(kernels::make_wide_cast(small), place);
  steps = 0;
  for (std::uint64_t i = place.first(); i < count; i += place.step(), ++steps)
    REQUIRE(to.data()[i] == static_cast<std::byte>(steps));
}

}  // namespace cast_test

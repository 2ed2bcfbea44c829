// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/convert.hpp>
#include <zarrpoint/core/types/visit.hpp>
#include <zarrpoint/memory/cast.hpp>

#include "support/random_layout.hpp"
#include "support/random_rounds.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace cast_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// One element by `convert`, whose own test has its own reference. The bits of a NaN may be any
/// NaN's, so both sides are given those of one.
template <class To, class From>
void cast_one(std::byte* to, const std::byte* from) {
  const To value = zp::convert<To>(load<From>(from));
  std::memcpy(to, &value, sizeof value);
}
template <class T>
void unify_nans(std::byte* at) {
  if constexpr (zp::dtype_of<T>.is_complex()) {
    unify_nans<typename T::value_type>(at);
    unify_nans<typename T::value_type>(at + sizeof(T) / 2);
  } else if constexpr (zp::dtype_of<T>.is_floating()) {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    if (const T value = load<T>(at); value != value) std::memcpy(at, &nan, sizeof nan);
  }
}

using cast_function = void (*)(std::byte*, const std::byte*);
cast_function cast_of(zp::dtype to, zp::dtype from) {
  return zp::visit_dtype(to, [&]<class To>() {
    return zp::visit_dtype(from, []<class From>() -> cast_function { return &cast_one<To, From>; });
  });
}
void unify_nans(const zp::mutable_host_view& view) {
  using function = void (*)(std::byte*);
  const function unify =
      zp::visit_dtype(view.type, []<class T>() -> function { return &unify_nans<T>; });
  for_each_coordinate(view.shape,
                      [&](const zp::dims& at) { unify(view.data + offset_of(at, view.strides)); });
}
void naive_cast(const zp::mutable_host_view& to, const zp::host_view& from) {
  const cast_function cast = cast_of(to.type, from.type);
  for_each_coordinate(to.shape, [&](const zp::dims& at) {
    cast(to.data + offset_of(at, to.strides), from.data + offset_of(at, from.strides));
  });
}

/// Random bits, but valid bools, and no unused bits: to the same type elements go as they are, also
/// as the parts of complex numbers.
std::vector<std::byte> random_elements(random_source& random, zp::dtype type, std::size_t size) {
  std::vector<std::byte> out = random_bytes(random, size);
  if (type == zp::dtype_kind::bool_) {
    for (std::byte& b : out) b &= std::byte{1};
  } else if (type.is_below_byte()) {
    for (std::byte& b : out) b &= static_cast<std::byte>((1U << type.bits()) - 1);
  }
  return out;
}

}  // namespace

TEST_CASE("cast_elements: every pair of dtypes on random boxes against one by one") {
  random_source random(11);
  for (const zp::dtype_kind to_kind : zp::all_dtype_kinds) {
    for (const zp::dtype_kind from_kind : zp::all_dtype_kinds) {
      const zp::dtype to_type(to_kind);
      const zp::dtype from_type(from_kind);
      if (!to_type.is_number() || !from_type.is_number()) continue;
      CAPTURE(std::string(zp::to_string(to_type)));
      CAPTURE(std::string(zp::to_string(from_type)));
      for (int n = 0; n < random_rounds(12); ++n) {
        // A dense run of more than one block every other time, then anything.
        const zp::dims shape = n % 2 == 0 ? zp::dims{600 + n} : random_shape(random, 4, 9);
        const layout source = n % 2 == 0 ? layout{zp::row_major_strides(shape, from_type.size()), 0,
                                                  zp::byte_count(shape, from_type.size()).value()}
                                         : random_layout(random, shape, from_type.size(), true);
        const layout target = n % 4 == 0 ? layout{zp::row_major_strides(shape, to_type.size()), 0,
                                                  zp::byte_count(shape, to_type.size()).value()}
                                         : random_layout(random, shape, to_type.size());
        const std::vector<std::byte> from = random_elements(random, from_type, source.size);
        std::vector<std::byte> expected = random_bytes(random, target.size);
        std::vector<std::byte> actual = expected;
        const zp::host_view view{
            from.data() + source.first, from_type, shape, source.strides, {}, {}};
        const zp::mutable_host_view reference{
            expected.data() + target.first, to_type, shape, target.strides, {}, {}};
        zp::mutable_host_view to = reference;
        to.data = actual.data() + target.first;
        naive_cast(reference, view);
        zp::detail::cast_elements(to, view).value();
        unify_nans(reference);
        unify_nans(to);
        REQUIRE(expected == actual);
      }
    }
  }
}

TEST_CASE("cast_elements: 64-bit integers are rounded once to small floats") {
  random_source random(12);
  std::vector<std::int64_t> from;
  for (int shift = 0; shift < 63; ++shift) {
    // The middles of neighbours, and beside them.
    for (const std::int64_t significant : {33, 35, 37, 39, 9, 11, 25, 27})
      for (const std::int64_t beside : {-1, 0, 1}) {
        const std::int64_t value =
            static_cast<std::int64_t>((static_cast<std::uint64_t>(significant) << shift) +
                                      static_cast<std::uint64_t>(beside));
        from.push_back(value);
        from.push_back(-value);
      }
  }
  from.push_back(INT64_MAX);
  from.push_back(INT64_MIN);
  const zp::dims shape{static_cast<zp::index_t>(from.size())};
  for (const zp::dtype_kind kind : zp::all_dtype_kinds) {
    const zp::dtype type(kind);
    if (!type.is_floating() || type.size() != 1) continue;
    for (const zp::dtype_kind source : {zp::dtype_kind::int64, zp::dtype_kind::uint64}) {
      std::vector<std::byte> expected(from.size());
      std::vector<std::byte> actual(from.size());
      const zp::host_view view =
          zp::dense_view(reinterpret_cast<const std::byte*>(from.data()), {source, shape});
      naive_cast(zp::dense_view(expected.data(), {type, shape}), view);
      zp::detail::cast_elements(zp::dense_view(actual.data(), {type, shape}), view).value();
      CAPTURE(std::string(zp::to_string(type)));
      CHECK(expected == actual);
    }
  }
}

TEST_CASE("cast_elements: a stored bool of another byte than 0 and 1 is true") {
  const std::vector<unsigned char> from = {0, 1, 2, 255};
  std::vector<float> to(4);
  const zp::dims shape{4};
  zp::detail::cast_elements(
      zp::dense_view(reinterpret_cast<std::byte*>(to.data()), {zp::dtype_kind::float32, shape}),
      zp::dense_view(reinterpret_cast<const std::byte*>(from.data()),
                     {zp::dtype_kind::bool_, shape}))
      .value();
  CHECK(to == std::vector<float>{0, 1, 1, 1});
}

TEST_CASE("cast_elements: strings are copied to strings and to nothing else") {
  const std::vector<std::string> from = {"a", "b"};
  std::vector<std::string> to(2);
  const zp::host_view source = zp::dense_view(reinterpret_cast<const std::byte*>(from.data()),
                                              {zp::dtype_kind::string, {2}});
  zp::detail::cast_elements(zp::dense_view(reinterpret_cast<std::byte*>(to.data()), source.spec()),
                            source)
      .value();
  CHECK(to == from);

  std::vector<float> numbers(2);
  const auto refused = zp::detail::cast_elements(
      zp::dense_view(reinterpret_cast<std::byte*>(numbers.data()), {zp::dtype_kind::float32, {2}}),
      source);
  REQUIRE(!refused);
  CHECK(refused.failure().code == zp::errc::unsupported);
  CHECK(refused.failure().message == "no cast from string to float32");
  CHECK(zp::detail::cast_elements(zp::dense_view(reinterpret_cast<std::byte*>(numbers.data()),
                                                 {zp::dtype_kind::datetime64, {1}}),
                                  zp::dense_view(reinterpret_cast<const std::byte*>(numbers.data()),
                                                 {zp::dtype_kind::int64, {1}}))
            .failure()
            .code == zp::errc::unsupported);
  CHECK(zp::detail::cast_elements(zp::mutable_host_view{}, zp::host_view{}).failure().code ==
        zp::errc::unsupported);
}

TEST_CASE("cast_elements: shapes must agree") {
  std::vector<float> to(6);
  const std::vector<double> from(6);
  const auto refused = zp::detail::cast_elements(
      zp::dense_view(reinterpret_cast<std::byte*>(to.data()), {zp::dtype_kind::float32, {2, 3}}),
      zp::dense_view(reinterpret_cast<const std::byte*>(from.data()),
                     {zp::dtype_kind::float64, {3, 2}}));
  REQUIRE(!refused);
  CHECK(refused.failure().code == zp::errc::shape_mismatch);
  CHECK(refused.failure().message == "cannot cast float64[3, 2] to float32[2, 3]");
}

}  // namespace cast_test

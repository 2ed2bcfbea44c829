// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/dtype.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace zp = zarrpoint;
using kind = zp::dtype_kind;

TEST_CASE("dtype: every kind has a name that reads back, and one class") {
  std::size_t kinds = 0;
  for (const kind k : zp::all_dtype_kinds) {
    const zp::dtype type(k);
    CAPTURE(std::string(zp::to_string(type)));
    CHECK(type.valid());
    CHECK(zp::parse_dtype(zp::to_string(type)) == type);
    const int classes = (k == kind::bool_) + type.is_signed_integer() + type.is_unsigned_integer() +
                        type.is_floating() + type.is_complex() + type.is_variable();
    CHECK(classes == 1);
    CHECK(type.is_integer() == (type.is_signed_integer() || type.is_unsigned_integer()));
    CHECK((type.size() == 0) == type.is_variable());
    CHECK(type.scalar_size() == (type.is_variable()  ? 1
                                 : type.is_complex() ? type.size() / 2
                                                     : type.size()));
    ++kinds;
  }
  CHECK(kinds == static_cast<std::size_t>(kind::string));
  CHECK_FALSE(zp::dtype().valid());
  CHECK(zp::dtype().size() == 0);
  CHECK(zp::to_string(zp::dtype()) == "invalid");
  CHECK_FALSE(zp::parse_dtype("invalid"));
  CHECK_FALSE(zp::parse_dtype("float128"));
  CHECK_FALSE(zp::parse_dtype(""));
}

TEST_CASE("dtype: the names and sizes that Zarr v3 gives") {
  const auto size_of = [](const char* name) { return zp::parse_dtype(name).value().size(); };
  CHECK(size_of("bool") == 1);
  CHECK(size_of("int16") == 2);
  CHECK(size_of("uint64") == 8);
  CHECK(size_of("bfloat16") == 2);
  CHECK(size_of("float8_e4m3fn") == 1);
  CHECK(size_of("complex64") == 8);
  CHECK(size_of("complex128") == 16);
  CHECK(zp::dtype(kind::float32).is_core());
  CHECK(zp::dtype(kind::string).is_core());
  CHECK_FALSE(zp::dtype(kind::bfloat16).is_core());
  CHECK_FALSE(zp::dtype(kind::float8_e5m2).is_core());
}

TEST_CASE("dtype: any number casts to any number, a string to a string") {
  CHECK(zp::dtype(kind::int8).castable_to(kind::complex64));
  CHECK(zp::dtype(kind::string).castable_to(kind::string));
  CHECK_FALSE(zp::dtype(kind::string).castable_to(kind::int8));
  CHECK_FALSE(zp::dtype(kind::int8).castable_to(kind::string));
  CHECK_FALSE(zp::dtype(kind::int8).castable_to({}));
}

TEST_CASE("dtype_of: keyed on size and sign; text is not a number") {
  static_assert(zp::dtype_of<long> == zp::dtype_of<std::int64_t>);
  static_assert(zp::dtype_of<long long> == zp::dtype_of<std::int64_t>);
  static_assert(zp::dtype_of<unsigned long long> == kind::uint64);
  static_assert(zp::dtype_of<signed char> == kind::int8);
  static_assert(zp::dtype_of<std::byte> == kind::uint8);
  static_assert(zp::dtype_of<bool> == kind::bool_);
  static_assert(zp::dtype_of<double> == kind::float64);
  static_assert(!zp::dtype_of<char>.valid() && !zp::dtype_of<char8_t>.valid());
  static_assert(!zp::dtype_of<wchar_t>.valid() && !zp::dtype_of<long double>.valid());
  static_assert(zp::element<const float> && zp::element<long long>);
  static_assert(!zp::element<char> && !zp::element<std::string> && !zp::element<float*>);
  CHECK(zp::dtype_of<float> == kind::float32);
}

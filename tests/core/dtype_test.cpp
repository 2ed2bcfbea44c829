// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/types/dtype.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace dtype_test {

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
    CHECK(type.is_number() == !type.is_variable());
    CHECK(type.component().is_complex() == false);
    CHECK(type.component().size() == (type.is_complex() ? type.size() / 2 : type.size()));
    if (type.is_complex() && type.size() < 8)
      CHECK("complex_" + std::string(zp::to_string(type.component())) == zp::to_string(type));
    CHECK(type.is_below_byte() ==
          (type.is_number() && type != kind::bool_ && type.bits() % 8 != 0));
    ++kinds;
  }
  CHECK(kinds == static_cast<std::size_t>(kind::bytes));
  CHECK(zp::dtype(kind::complex64).component() == kind::float32);
  CHECK(zp::parse_dtype("complex_float64") == kind::complex128);
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

TEST_CASE("dtype: kinds with parameters are told apart by them") {
  const zp::dtype raw = zp::dtype::raw_bytes(6);
  CHECK(raw.size() == 6);
  CHECK(raw.scalar_size() == 1);
  CHECK(raw == zp::dtype::raw_bytes(6));
  CHECK(raw != zp::dtype::raw_bytes(5));
  CHECK(raw != zp::dtype::null_terminated(6));
  const zp::dtype text = zp::dtype::utf32(5);
  CHECK(text.size() == 20);
  CHECK(text.scalar_size() == 4);
  const zp::dtype time = zp::dtype::datetime(zp::time_unit::us, 10);
  CHECK(time.size() == 8);
  CHECK(time.scalar_size() == 8);
  CHECK(time.is_time());
  CHECK(time.unit() == zp::time_unit::us);
  CHECK(time.scale() == 10);
  CHECK(time != zp::dtype::datetime(zp::time_unit::us));
  CHECK(time != zp::dtype::timedelta(zp::time_unit::us, 10));
  for (const zp::dtype& type : {raw, text, time}) {
    CHECK_FALSE(type.is_number());
    CHECK_FALSE(type.is_variable());
    CHECK(type.castable_to(type));
    CHECK_FALSE(type.castable_to(kind::int64));
    CHECK_FALSE(zp::dtype(kind::int64).castable_to(type));
    CHECK_FALSE(zp::parse_dtype(zp::to_string(type)));  // the name says too little
  }
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

}  // namespace dtype_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/fill_value.hpp>

#include "json_input.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace fill_value_test {

using namespace zarrpoint;
using json_input::json_of;

namespace {

struct row {
  dtype_kind type;
  std::string text;
  std::uint64_t bits;   ///< of the element, or of the real part
  std::string written;  ///< empty: as `text`
};

std::uint64_t bits_of(const fill_value& fill, std::size_t at = 0, std::size_t size = 0) {
  if (size == 0) size = fill.bytes().size();
  return detail::load_native(fill.bytes().data() + at, size);
}

}  // namespace

TEST_CASE("v3: what is read, bit for bit, and how it is written") {
  using enum dtype_kind;
  const row table[] = {
      {bool_, "true", 1, ""},
      {bool_, "false", 0, ""},
      {bool_, "0", 0, "false"},
      {bool_, "1", 1, "true"},
      {int8, "-128", 0x80, ""},
      {int8, "127", 0x7f, ""},
      {uint8, "255", 0xff, ""},
      {int16, "-32768", 0x8000, ""},
      {uint16, "65535", 0xffff, ""},
      {int32, "-2147483648", 0x80000000, ""},
      {uint32, "4294967295", 0xffffffff, ""},
      {int64, "-9223372036854775808", 0x8000000000000000, ""},
      {int64, "9007199254740993", 9007199254740993, ""},
      {uint64, "18446744073709551615", 0xffffffffffffffff, ""},
      {int32, "7.0", 7, "7"},
      {int32, "-1e3", static_cast<std::uint32_t>(-1000), "-1000"},
      {uint64, "9223372036854775808.0", 0x8000000000000000, "9223372036854775808"},
      {float16, "0.1", 0x2e66, "0.0999755859375"},
      {float16, "\"NaN\"", 0x7e00, ""},
      {float16, "\"0x7e01\"", 0x7e01, ""},
      {float16, "\"0x7d00\"", 0x7d00, ""},
      {float16, "\"0x3c00\"", 0x3c00, "1.0"},
      {bfloat16, "0", 0, "0.0"},
      {bfloat16, "\"Infinity\"", 0x7f80, ""},
      {bfloat16, "\"NaN\"", 0x7fc0, ""},
      {bfloat16, "\"0xffc1\"", 0xffc1, ""},
      {bfloat16, "-2.5", 0xc020, ""},
      {float8_e4m3fn, "0.0", 0, "\"0x00\""},
      {float8_e4m3fn, "1", 0x38, "\"0x38\""},
      {float8_e4m3fn, "\"NaN\"", 0x7f, "\"0x7f\""},
      {float8_e4m3fn, "\"0xff\"", 0xff, ""},
      {float8_e5m2, "\"-Infinity\"", 0xfc, "\"0xfc\""},
      {float32, "0.1", 0x3dcccccd, "0.10000000149011612"},
      {float32, "-0.0", 0x80000000, ""},
      {float32, "0", 0, "0.0"},
      {float32, "\"-Infinity\"", 0xff800000, ""},
      {float32, "\"0x7fc00000\"", 0x7fc00000, "\"NaN\""},
      {float32, "\"0x7fc00123\"", 0x7fc00123, ""},
      {float32, "\"0x7FA00000\"", 0x7fa00000, "\"0x7fa00000\""},
      {float32, "\"0xffc00000\"", 0xffc00000, ""},
      {float32, "1e39", 0x7f800000, "\"Infinity\""},
      {float64, "\"0x7ff8000000000abc\"", 0x7ff8000000000abc, ""},
      {float64, "9.969209968386869e+36", 0x479e000000000000, ""},
      {float64, "5e-324", 1, ""},
      {float64, "\"0x0000000000000000\"", 0, "0.0"},
  };
  for (const row& one : table) {
    CAPTURE(one.text);
    const auto fill = detail::parse_fill_value(json_of(one.text), one.type, 3);
    REQUIRE_MESSAGE(fill, json_input::error_of(fill));
    CHECK(fill->bytes().size() == dtype(one.type).size());
    CHECK(bits_of(*fill) == one.bits);
    CHECK_FALSE(fill->is_null());
    const std::string written = json_input::text_of(detail::fill_value_to_json(*fill, one.type, 3));
    CHECK(written == (one.written.empty() ? one.text : one.written));
    CHECK(detail::parse_fill_value(json_of(written), one.type, 3).value() == *fill);
  }
}

TEST_CASE("complex numbers are two floats") {
  const auto fill =
      detail::parse_fill_value(json_of(R"(["NaN", 1.5])"), dtype_kind::complex64, 3).value();
  CHECK(bits_of(fill, 0, 4) == 0x7fc00000);
  CHECK(bits_of(fill, 4, 4) == 0x3fc00000);
  CHECK(json_input::text_of(detail::fill_value_to_json(fill, dtype_kind::complex64, 3)) ==
        R"(["NaN",1.5])");
  const auto wide = detail::parse_fill_value(json_of(R"(["0x7ff8000000000001", -0.0])"),
                                             dtype_kind::complex128, 3)
                        .value();
  CHECK(bits_of(wide, 8, 8) == 0x8000000000000000);
  CHECK(json_input::text_of(detail::fill_value_to_json(wide, dtype_kind::complex128, 3)) ==
        R"(["0x7ff8000000000001",-0.0])");
}

TEST_CASE("strings") {
  const auto fill = detail::parse_fill_value(json("héllo"), dtype_kind::string, 3).value();
  CHECK(fill.text() == "héllo");
  CHECK(fill.bytes().empty());
  CHECK(detail::fill_value_to_json(fill, dtype_kind::string, 3).value() == json("héllo"));
}

TEST_CASE("v3: what is refused") {
  using enum dtype_kind;
  const std::pair<dtype_kind, const char*> table[] = {
      {bool_, "null"},
      {bool_, "2"},
      {bool_, "\"true\""},
      {bool_, "0.5"},
      {int8, "128"},
      {int8, "-129"},
      {int8, "1.5"},
      {int8, "\"1\""},
      {int8, "true"},
      {uint8, "-1"},
      {uint8, "256"},
      {uint8, "null"},
      {int64, "1e19"},
      {int64, "9223372036854775808"},
      {uint64, "-1"},
      {uint64, "18446744073709551616.0"},
      {int32, "NaN"},
      {float32, "NaN"},
      {float32, "Infinity"},
      {float32, "null"},
      {float32, "\"nan\""},
      {float32, "\"+Infinity\""},
      {float32, "\"0x7fc0\""},
      {float32, "\"0x7fc000000\""},
      {float32, "\"0x7fc0000g\""},
      {float32, "\"0x-7fc000\""},
      {float32, "\"7fc00000\""},
      {float32, "\"0X7fc00000\""},
      {float32, "\"1.5\""},
      {float32, "[1]"},
      {float32, "true"},
      {float64, "\"0x7fc00000\""},
      {float8_e4m3fn, "\"0x7f0\""},
      {complex64, "0"},
      {complex64, "[1]"},
      {complex64, "[1,2,3]"},
      {complex64, "[null,0]"},
      {string, "0"},
      {string, "null"},
      {string, "[]"},
      {float16, "\"0x\""},
  };
  for (const auto& [type, text] : table) {
    CAPTURE(text);
    const auto fill = detail::parse_fill_value(json_of(text), type, 3);
    REQUIRE_FALSE(fill);
    CHECK(fill.failure().code == errc::corrupt);
  }
}

TEST_CASE("bytes, text, times and records, in every form that writers use") {
  const dtype raw = dtype::raw_bytes(3);
  const dtype text = dtype::null_terminated(4);
  const dtype utf32 = dtype::utf32(3);
  const dtype time = dtype::datetime(time_unit::us, 10);
  const dtype record =
      make_record({{"id", dtype_kind::int16}, {"x", dtype_kind::float32}, {"t", text}}).value();
  const auto text_of_fill = [](const fill_value& fill) {
    return std::string(as_text(fill.bytes()));
  };
  const auto read = [](const char* json, const dtype& type, int format = 3) {
    return detail::parse_fill_value(json_of(json), type, format);
  };
  CHECK(text_of_fill(read(R"("YWJj")", raw).value()) == "abc");
  CHECK(text_of_fill(read("[97,98,99]", raw).value()) == "abc");
  CHECK(text_of_fill(read("0", raw, 2).value()) == std::string(3, '\0'));
  CHECK(text_of_fill(read(R"("YWI=")", text).value()) == std::string("ab\0\0", 4));
  CHECK(text_of_fill(read(R"("YWIAAA==")", text, 2).value()) == std::string("ab\0\0", 4));
  CHECK(text_of_fill(read(R"("")", text, 2).value()) == std::string(4, '\0'));
  CHECK(detail::fill_value_to_json(read(R"("YWI=")", text).value(), text, 2).value() ==
        json("YWIAAA=="));
  const fill_value japanese = read(R"("日b")", utf32).value();
  CHECK(japanese.bytes().size() == 12);
  CHECK(detail::load_native(japanese.bytes().data(), 4) == 0x65e5);
  CHECK(detail::fill_value_to_json(japanese, utf32, 3).value() == json("日b"));
  CHECK(detail::fill_value_to_json(fill_value::zero(utf32), utf32, 3).value() == json(""));
  CHECK(read(R"("NaT")", time).value() == read("-9223372036854775808", time).value());
  CHECK(detail::fill_value_to_json(read("-5", time).value(), time, 3).value() == json(-5));
  CHECK(read(R"("eHk=")", dtype_kind::bytes).value().text() == "xy");
  CHECK(read("[120,121]", dtype_kind::bytes).value().text() == "xy");

  const fill_value fields = read(R"({"id":-2,"x":1.5,"t":"YWI="})", record).value();
  CHECK(read(R"([-2,1.5,"YWI="])", record).value() == fields);
  const json packed = detail::fill_value_to_json(fields, record, 2).value();
  CHECK(detail::parse_fill_value(packed, record, 2).value() == fields);
  CHECK(detail::parse_fill_value(packed, record, 3).value() == fields);
  CHECK(json_input::text_of(detail::fill_value_to_json(fields, record, 3)) ==
        R"({"id":-2,"x":1.5,"t":"YWIAAA=="})");

  const std::pair<dtype, const char*> refused[] = {
      {raw, R"("YWI=")"},
      {raw, R"("YWJjZA==")"},
      {raw, "[1,2]"},
      {raw, "[1,2,256]"},
      {raw, R"("a")"},
      {raw, "1"},
      {text, R"("YWJjZGU=")"},
      {utf32, R"("abcd")"},
      {utf32, "1"},
      {time, "1.5"},
      {time, R"("now")"},
      {time, "null"},
      {record, R"({"id":1})"},
      {record, R"({"id":1,"x":0,"t":"","y":0})"},
      {record, "[1,2]"},
      {record, R"("AAAA")"},
      {record, R"({"id":1,"x":"","t":""})"},
      {dtype_kind::bytes, R"("a")"},
      {dtype_kind::int4, "8"},
      {dtype_kind::uint2, "4"},
      {dtype_kind::float4_e2m1fn, R"("NaN")"},
      {dtype_kind::float8_e4m3fn, R"("Infinity")"},
  };
  for (const auto& [type, json] : refused) {
    CAPTURE(json);
    const auto fill = read(json, type);
    REQUIRE_FALSE(fill);
    CHECK(fill.failure().code == errc::corrupt);
  }
  CHECK(bits_of(read("-1", dtype_kind::int4).value()) == 0x0f);
  CHECK(detail::fill_value_to_json(read("-1", dtype_kind::int4).value(), dtype_kind::int4, 3)
            .value() == json(-1));
  CHECK(bits_of(read(R"("0xff")", dtype_kind::float6_e2m3fn).value()) == 0x3f);
}

TEST_CASE("v2: null is undefined, hex is unknown, 0 is an empty string") {
  for (const dtype_kind kind : all_dtype_kinds) {
    const auto fill = detail::parse_fill_value(json(), kind, 2).value();
    CHECK(fill.is_null());
    CHECK(fill.bytes().size() == dtype(kind).size());
    CHECK(detail::fill_value_to_json(fill, kind, 2).value().is_null());
    // v3 has no null.
    const json zero = detail::fill_value_to_json(fill, kind, 3).value();
    CHECK(detail::parse_fill_value(zero, kind, 3).value() == fill_value::zero(kind));
    CHECK(detail::fill_value_to_json(fill_value(), kind, 3).value() == zero);
  }
  CHECK(detail::parse_fill_value(json(0), dtype_kind::string, 2).value().text().empty());
  CHECK(detail::parse_fill_value(json("a"), dtype_kind::string, 2).value().text() == "a");
  CHECK_FALSE(detail::parse_fill_value(json(1), dtype_kind::string, 2));
  CHECK_FALSE(detail::parse_fill_value(json("0x7fc00001"), dtype_kind::float32, 2));
  CHECK(bits_of(detail::parse_fill_value(json("NaN"), dtype_kind::float32, 2).value()) ==
        0x7fc00000);
  const auto payload = detail::parse_fill_value(json("0x7fc00001"), dtype_kind::float32, 3).value();
  CHECK(detail::fill_value_to_json(payload, dtype_kind::float32, 2).failure().code ==
        errc::unsupported);
  const auto small = detail::parse_fill_value(json(1.5), dtype_kind::float8_e4m3fn, 2).value();
  CHECK(detail::fill_value_to_json(small, dtype_kind::float8_e4m3fn, 2).value() == json(1.5));
}

TEST_CASE("v2: numbers in quotes") {
  using enum dtype_kind;
  struct quoted {
    dtype_kind type;
    const char* text;
    std::uint64_t bits;
  };
  const quoted table[] = {
      {int32, "0", 0},
      {int8, "-3", 0xfd},
      {int64, "-9223372036854775808", 0x8000000000000000},
      {uint64, "18446744073709551615", UINT64_MAX},
      {float32, "0.5", 0x3f000000},
      {float64, "-0.0", 0x8000000000000000},
      {float32, "1e1", 0x41200000},
      {bool_, "1", 1},
      {datetime64, "7", 7},
  };
  for (const quoted& one : table) {
    CAPTURE(one.text);
    CHECK(bits_of(detail::parse_fill_value(json(one.text), one.type, 2).value()) == one.bits);
    CHECK_FALSE(detail::parse_fill_value(json(one.text), one.type, 3));
  }
  const std::string deep(100'000, '[');
  for (const std::string& text :
       {std::string(), std::string("1 2"), std::string("\"0\""), std::string("[0]"),
        std::string("null"), std::string("0x10"), std::string("inf"), std::string("+1"),
        std::string("99999999999999999999999999"), deep}) {
    CAPTURE(text.substr(0, 30));
    CHECK_FALSE(detail::parse_fill_value(json(text), int32, 2));
  }
  CHECK_FALSE(detail::parse_fill_value(json("300"), uint8, 2));
  CHECK_FALSE(detail::parse_fill_value(json("NaN"), int32, 2));
}

TEST_CASE("v2: bare NaN, a list of one number, bytes that are not base64") {
  using enum dtype_kind;
  const auto read = [](const char* text, const dtype& type, int format) {
    return detail::parse_fill_value(json_of(text), type, format);
  };
  CHECK(bits_of(read("NaN", float32, 2).value()) == 0x7fc00000);
  CHECK(bits_of(read("-Infinity", float64, 2).value()) == 0xfff0000000000000);
  CHECK(bits_of(read("[[NaN]]", float16, 2).value()) == 0x7e00);
  CHECK(bits_of(read("[-32767]", int32, 2).value()) == 0xffff8001);
  CHECK(bits_of(read(R"(["7"])", uint8, 2).value()) == 7);
  CHECK(bits_of(read("[NaN, Infinity]", complex64, 2).value()) == 0x7f8000007fc00000);
  for (const char* text : {"NaN", "[1]", "[1.5]"}) CHECK_FALSE(read(text, float32, 3));
  for (const char* text : {"[]", "[1, 2]", "[[]]", "[null]", "[{}]", "NaN"})
    CHECK_FALSE(read(text, int32, 2));
  CHECK_FALSE(read("NaN", float4_e2m1fn, 2));
  // What the reader of documents makes of 1e20 without an exponent.
  for (const int format : {2, 3}) {
    CHECK(bits_of(read(R"("100000000000000000000")", float32, format).value()) == 0x60ad78ec);
    CHECK(bits_of(read(R"("-100000000000000000000")", float64, format).value()) ==
          0xc415af1d78b58c40);
    for (const char* text : {R"("100000000000000000000e")", R"("NaNNaNNaNNaNNaNNaNNaNNaN")",
                             R"("[1000000000000000000]")"})
      CHECK_FALSE(read(text, float32, format));
    CHECK_FALSE(read(R"("100000000000000000000")", int64, format));
  }

  const dtype one = dtype::null_terminated(1);
  const dtype three = dtype::null_terminated(3);
  CHECK(read(R"("\u0000")", one, 2).value() == fill_value::zero(one));
  CHECK(read(R"("\u0000")", three, 2).value() == fill_value::zero(three));
  CHECK(as_text(read(R"("x")", one, 2).value().bytes()) == "x");
  CHECK(as_text(read(R"("YQ==")", one, 2).value().bytes()) == "a");
  CHECK_FALSE(read(R"("xyz")", one, 2));
  CHECK_FALSE(read(R"("\u0000")", one, 3));
  CHECK_FALSE(read(R"("\u0000")", dtype::raw_bytes(1), 2));
}

TEST_CASE("from C++ values") {
  CHECK(fill_value::of(1.5F) ==
        detail::parse_fill_value(json(1.5), dtype_kind::float32, 3).value());
  CHECK(fill_value::of(std::int16_t{-1}) ==
        detail::parse_fill_value(json(-1), dtype_kind::int16, 3).value());
  CHECK(fill_value::of_text("x") ==
        detail::parse_fill_value(json("x"), dtype_kind::string, 3).value());
  CHECK(detail::fill_value_to_json(fill_value::of(1.5F), dtype_kind::float64, 3).failure().code ==
        errc::invalid_argument);
  CHECK(detail::fill_value_to_json(fill_value::of_text("x"), dtype_kind::int8, 3).failure().code ==
        errc::invalid_argument);
}

TEST_CASE("every fill value of zarr-python's own tests") {
  for (const char* name :
       {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
        "float32", "float64", "complex64", "complex128", "string"}) {
    const json cases =
        json_input::golden("zarr-python/v3/data_type/" + std::string(name) + "/fill_values.json");
    const dtype type = parse_dtype(name).value();
    for (const auto& [label, value] : *cases.if_object()) {
      CAPTURE(label);
      const auto fill = detail::parse_fill_value(value, type, 3);
      REQUIRE_MESSAGE(fill, json_input::error_of(fill));
      const json written = detail::fill_value_to_json(*fill, type, 3).value();
      CHECK(detail::parse_fill_value(written, type, 3).value() == *fill);
    }
  }
}

}  // namespace fill_value_test

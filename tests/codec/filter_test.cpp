// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/kit/filter.hpp>

#include "support/filter_golden.hpp"

#include <doctest/doctest.h>

#include <string>

namespace filter_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::detail::filter_dtype;

namespace {

zp::dtype type_of(std::string_view text) {
  const auto parsed = zp::detail::parse_filter_dtype(text);
  if (parsed) return parsed->type;
  CHECK(parsed.failure().code == zp::errc::unsupported);
  return {};
}

}  // namespace

TEST_CASE("filters: the spellings of types") {
  using enum zp::dtype_kind;
  CHECK(type_of("<f8") == float64);
  CHECK(type_of("f8") == float64);
  CHECK(type_of("float64") == float64);
  CHECK(type_of("|b1") == bool_);
  CHECK(type_of("bool") == bool_);
  CHECK(type_of("u1") == uint8);
  CHECK(type_of("<c16") == complex128);
  CHECK(type_of("complex64") == complex64);
  CHECK(type_of(">i2") == int16);
  for (const char* const text :
       {"", "<", "<f", "f1", "f16", "i3", "b2", "<M8[s]", "S4", "|O", "bfloat16", "int4", "<f8x",
        "=f8", "float8_e5m2", "c4", "f-8", "<f018446744073709551624"})
    CHECK_FALSE(type_of(text).valid());
  CHECK(zp::detail::parse_filter_dtype(">i2")->swapped);
  CHECK_FALSE(zp::detail::parse_filter_dtype("<i2")->swapped);
  CHECK_FALSE(zp::detail::parse_filter_dtype(">i1")->swapped);
}

TEST_CASE("filters: a chunk seen as other elements") {
  using enum zp::dtype_kind;
  const auto seen = [](zp::dtype type, const zp::dims& shape, zp::dtype as) {
    const auto spec = zp::detail::viewed_spec({type, shape}, as);
    return spec ? zp::to_string(*spec) : "none";
  };
  CHECK(seen(float32, {2, 3}, int32) == "int32[2, 3]");
  CHECK(seen(float32, {2, 3}, int16) == "int16[12]");
  CHECK(seen(int8, {2, 4}, float64) == "float64[1]");
  CHECK(seen(int8, {2, 3}, float64) == "none");
  CHECK(seen(string, {2, 4}, float64) == "none");
  CHECK(seen(int8, {0, 4}, float64) == "float64[0]");
  CHECK(seen(zp::dtype::raw_bytes(4), {2}, float64) == "float64[1]");
}

TEST_CASE("filters: what is written as other elements stays valid") {
  const filter_dtype bytes{zp::dtype_kind::uint8, false, {}};
  const byte_string stored = from_hex("0001ff80");
  const auto decode = [&](zp::dtype type) {
    const zp::tensor_spec spec{type, {4}};
    byte_string out(4);
    zp::codec_workspace scratch;
    REQUIRE(zp::detail::run_filter(zp::dense_view(out.data(), spec), bytes,
                                   zp::dense_view(stored.data(), {zp::dtype_kind::uint8, {4}}),
                                   bytes, scratch,
                                   [](const auto& made, const auto& seen) -> zp::result<void> {
                                     zp::copy_elements(made, seen);
                                     return {};
                                   }));
    return to_hex(out);
  };
  CHECK(decode(zp::dtype_kind::bool_) == "00010101");
  CHECK(decode(zp::dtype_kind::int4) == "00010f00");
  CHECK(decode(zp::dtype_kind::int8) == "0001ff80");
}

}  // namespace filter_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/zfp/zfp_parameters.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace zfp_parameters_test {

namespace zp = zarrpoint;
using zp::detail::zfp_bound;
using zp::detail::zfp_field_of;
using kind = zp::zfp_options::kind;

TEST_CASE("zfp_parameters: the last axis of a chunk is x") {
  const zfp_field field = zfp_field_of({zp::dtype_kind::float64, {2, 3, 5}}).value();
  CHECK(field.type == zfp_type_double);
  CHECK(field.nx == 5);
  CHECK(field.ny == 3);
  CHECK(field.nz == 2);
  CHECK(field.nw == 0);
  const zfp_field one = zfp_field_of({zp::dtype_kind::uint16, {}}).value();
  CHECK(one.type == zfp_type_int32);
  CHECK(one.nx == 1);
  CHECK(one.ny == 0);
}

TEST_CASE("zfp_parameters: chunks that zfp has no field for") {
  const auto refusal = [](const zp::tensor_spec& chunk) {
    return zfp_field_of(chunk).failure().code;
  };
  CHECK(refusal({zp::dtype_kind::bool_, {4}}) == zp::errc::unsupported);
  CHECK(refusal({zp::dtype_kind::complex64, {4}}) == zp::errc::unsupported);
  CHECK(refusal({zp::dtype_kind::float32, {1, 1, 1, 1, 1}}) == zp::errc::unsupported);
  CHECK(refusal({zp::dtype_kind::float32, {4, 0}}) == zp::errc::invalid_argument);
}

TEST_CASE("zfp_parameters: the bytes of a stream, counted by hand") {
  // Four blocks of 16 numbers and the 148 bits of a header, in words of 64 bits.
  const zfp_field floats = zfp_field_of({zp::dtype_kind::float32, {8, 8}}).value();
  CHECK(zfp_bound({.mode = kind::fixed_rate, .rate = 16}, floats).value() == 152);
  // Nine bits of an exponent, and eight planes of 16 bits, with 15 that group them.
  CHECK(zfp_bound({.mode = kind::fixed_precision, .precision = 8}, floats).value() ==
        (148 + 4 * (9 + 15 + 16 * 8) + 63) / 64 * 8);
  // Fifteen bits that say how a block is lossless, and all 32 planes.
  CHECK(zfp_bound({}, floats).value() == (148 + 4 * (15 + 15 + 16 * 32) + 63) / 64 * 8);
  // A block at the edge is a whole one.
  const zfp_field more = zfp_field_of({zp::dtype_kind::float32, {9, 8}}).value();
  CHECK(zfp_bound({.mode = kind::fixed_rate, .rate = 16}, more).value() ==
        (148 + 6 * 256 + 63) / 64 * 8);
}

TEST_CASE("zfp_parameters: what may be read lies behind what is stored, by its blocks") {
  const zfp_field floats = zfp_field_of({zp::dtype_kind::float32, {8, 8}}).value();
  zfp_stream stream{};
  REQUIRE(zp::detail::set_zfp_mode(stream, {.mode = kind::fixed_rate, .rate = 16}, floats));
  const std::uint64_t whole = zp::detail::zfp_stream_bytes(stream, floats);
  // Never more than the longest stream, and room for one block of 256 bits at least.
  CHECK(zp::detail::zfp_readable_bytes(stream, floats, whole) == whole);
  CHECK(zp::detail::zfp_readable_bytes(stream, floats, 0) >= 256 / 8);
}

TEST_CASE("zfp_parameters: parameters with which zfp would leave its memory") {
  const zfp_field floats = zfp_field_of({zp::dtype_kind::float32, {8, 8}}).value();
  const auto refusal = [&](const zp::zfp_options& how) {
    zfp_stream stream{};
    return zp::detail::set_zfp_mode(stream, how, floats).failure().code;
  };
  // Fewer bits than the exponent of a block has.
  CHECK(refusal({.mode = kind::expert, .minbits = 1, .maxbits = 8}) == zp::errc::invalid_argument);
  CHECK(refusal({.mode = kind::expert, .minbits = 9, .maxbits = 8}) == zp::errc::invalid_argument);
  CHECK(refusal({.mode = kind::fixed_rate, .rate = 1e9}) == zp::errc::invalid_argument);
  zfp_stream stream{};
  CHECK(
      zp::detail::set_zfp_mode(stream, {.mode = kind::expert, .minbits = 1, .maxbits = 9}, floats));
}

}  // namespace zfp_parameters_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/numcodecs/byte_codecs.hpp>

#include "support/filter_golden.hpp"

#include <doctest/doctest.h>

namespace numcodecs_packbits_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

TEST_CASE(
    "numcodecs.packbits: what numcodecs 0.16.5 with NumPy 2.4 makes of it, in both directions") {
  const filter_case cases[] = {
      {"bool", R"({})", "01000001010101010100", "069f80", "01000001010101010100"},
      {"bool", R"({})", "0100000101010101", "009f", "0100000101010101"},
      {"bool", R"({})", "01", "0780", "01"},
  };
  for (const filter_case& one : cases) check_filter<zp::numcodecs_packbits_codec>(one);
}

TEST_CASE("numcodecs.packbits: every shape and layout of bool") {
  std::vector<zp::tensor_spec> specs;
  for (const zp::tensor_spec& one : conformance_specs()) {
    if (one.type == zp::dtype_kind::bool_) specs.push_back(one);
  }
  codec_conformance(zp::numcodecs_packbits_codec{}, specs);
}

TEST_CASE(
    "numcodecs.packbits: a wrong count of unused bits is corrupt; wider elements are not for it") {
  const zp::tensor_spec spec{zp::dtype_kind::bool_, {10}};
  const zp::numcodecs_packbits_codec codec;
  zp::codec_workspace scratch;
  byte_string out(10);
  for (const char* const stored : {"059f80", "0e9f80", "ff9f80"}) {
    const byte_string bytes = from_hex(stored);
    const auto status = codec.decode(zp::dense_view(bytes.data(), codec.encoded_spec(spec)),
                                     zp::dense_view(out.data(), spec), scratch);
    REQUIRE_FALSE(status);
    CHECK(status.failure().code == zp::errc::corrupt);
  }
  CHECK(refuses<zp::numcodecs_packbits_codec>("{}", {zp::dtype_kind::int16, {1}},
                                              zp::errc::unsupported));
  CHECK(refuses<zp::numcodecs_packbits_codec>(R"({"bits": 1})", spec, zp::errc::invalid_argument));
}

}  // namespace numcodecs_packbits_test

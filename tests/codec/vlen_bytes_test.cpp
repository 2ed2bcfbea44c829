// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/array_to_bytes/vlen_utf8.hpp>

#include "support/strings.hpp"

#include <doctest/doctest.h>

#include <string>

namespace vlen_bytes_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("vlen-bytes: conformance") { codec_conformance(zp::vlen_bytes_codec{}); }

TEST_CASE("vlen-bytes: the bytes that numcodecs writes, which need not be text") {
  const zp::tensor_spec spec{zp::dtype_kind::bytes, {3}};
  const strings elements{std::string("\xff\0", 2), "", "abc"};
  const std::string hex = "03000000 02000000 ff00 00000000 03000000 616263";
  CHECK(encoded_strings(zp::vlen_bytes_codec{}, elements, spec).value() == from_hex(hex));
  CHECK(decoded_strings(zp::vlen_bytes_codec{}, from_hex(hex), spec).value() == elements);
}

TEST_CASE("vlen-bytes: counts and lengths that lie") {
  const zp::tensor_spec spec{zp::dtype_kind::bytes, {1}};
  for (const char* hex : {"", "000000", "00000000", "02000000 00000000 00000000", "01000000",
                          "01000000 ffffffff 00", "01000000 00000000 00"}) {
    CAPTURE(hex);
    CHECK(decoded_strings(zp::vlen_bytes_codec{}, from_hex(hex), spec).failure().code ==
          zp::errc::corrupt);
  }
}

}  // namespace vlen_bytes_test

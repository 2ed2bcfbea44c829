// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/numcodecs/byte_codecs.hpp>

#include "support/codec_bytes.hpp"

#include <doctest/doctest.h>

#include <string>

namespace base64_codec_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("base64 codec: conformance") { codec_conformance(zp::base64_codec{}); }

TEST_CASE("base64 codec: the examples of RFC 4648") {
  const std::pair<const char*, const char*> table[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, text] : table) {
    CHECK(encoded_by(zp::base64_codec{}, zp::as_bytes(plain)) == text_bytes(text));
    CHECK(decoded_by(zp::base64_codec{}, zp::as_bytes(text), 6).value() == text_bytes(plain));
  }
}

TEST_CASE("base64 codec: what is none is corrupt") {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg==\n", "Zm9v!m8=", "====", "Z===", "Zg==Zg==",
                           "Zm8=Zg==", "Zm=v", "Zm 9", "-_-_"}) {
    CAPTURE(text);
    CHECK(decoded_by(zp::base64_codec{}, zp::as_bytes(text), 100).failure().code ==
          zp::errc::corrupt);
  }
  CHECK(zp::base64_codec{}.encoded_bound(UINT64_MAX) == UINT64_MAX);
  CHECK(zp::base64_codec{}.encoded_bound(4) == 8);
}

}  // namespace base64_codec_test

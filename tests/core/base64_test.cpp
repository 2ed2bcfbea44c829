// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/base64.hpp>

#include <doctest/doctest.h>

#include <string>

namespace base64_test {

namespace zp = zarrpoint;

TEST_CASE("base64: the vectors of RFC 4648, section 10, both ways") {
  const char* const pairs[][2] = {{"", ""},
                                  {"f", "Zg=="},
                                  {"fo", "Zm8="},
                                  {"foo", "Zm9v"},
                                  {"foob", "Zm9vYg=="},
                                  {"fooba", "Zm9vYmE="},
                                  {"foobar", "Zm9vYmFy"},
                                  {"\xff\xfe\xfb", "//77"}};
  for (const auto& [plain, coded] : pairs) {
    CHECK(zp::detail::to_base64(zp::as_bytes(std::string_view(plain))) == coded);
    CHECK(zp::detail::from_base64(coded) == plain);
  }
  std::string every;
  for (int i = 0; i < 256; ++i) every += static_cast<char>(i);
  CHECK(zp::detail::from_base64(zp::detail::to_base64(zp::as_bytes(every))) == every);
}

TEST_CASE("base64: what is not base64 is refused") {
  for (const char* const text : {"Z", "Zg", "Zg=", "Zg===", "Z===", "====", "=g==", "Zg=a",
                                 "Zm9v\n", "Zm 9", "Zm9_", "Zg==Zg==", "Zm8=Zm8="}) {
    CAPTURE(text);
    CHECK_FALSE(zp::detail::from_base64(text));
  }
}

}  // namespace base64_test

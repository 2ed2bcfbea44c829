// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/utf8.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace utf8_test {

using namespace zarrpoint;

namespace {

/// Encodes without asking whether it may.
std::string encode(std::uint32_t code, int length) {
  std::string out;
  if (length == 1) return {static_cast<char>(code)};
  const unsigned leads[] = {0xc0, 0xe0, 0xf0};
  out += static_cast<char>(leads[length - 2] | code >> (6 * (length - 1)));
  for (int i = length - 2; i >= 0; --i) out += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
  return out;
}

}  // namespace

TEST_CASE("every code point is well formed in its shortest form and in no other") {
  for (std::uint32_t code = 0; code < 0x110000; ++code) {
    const int shortest = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    const bool is_surrogate = code >= 0xd800 && code < 0xe000;
    const auto got = detail::utf8_sequence(encode(code, shortest));
    if (got != (is_surrogate ? 0U : static_cast<unsigned>(shortest))) FAIL_CHECK(code);
    if (shortest < 4 && is_utf8(encode(code, shortest + 1))) FAIL_CHECK(code);
  }
  CHECK_FALSE(is_utf8(encode(0x110000, 4)));
  CHECK_FALSE(is_utf8("\xf5\x80\x80\x80"));
}

TEST_CASE("truncated and stray bytes are not well formed") {
  for (const std::string whole : {"\xc3\xa9", "\xe4\xb8\x96", "\xf0\x9f\x98\x80"}) {
    CHECK(is_utf8(whole));
    CHECK(is_utf8("a" + whole + "b"));
    for (std::size_t length = 1; length < whole.size(); ++length) {
      CHECK_FALSE(is_utf8(whole.substr(0, length)));
      CHECK_FALSE(is_utf8(whole.substr(0, length) + "a"));
      CHECK_FALSE(is_utf8(whole.substr(length)));
    }
  }
  CHECK(is_utf8(""));
  CHECK_FALSE(is_utf8("\xff"));
}

TEST_CASE("utf8: every code point comes back, and nothing else does") {
  for (char32_t c = 0; c <= 0x110400; c += c < 0x3000 ? 1 : 61) {
    std::string text = "x";
    const bool valid = c <= 0x10ffff && !(c >= 0xd800 && c < 0xe000);
    CHECK(zarrpoint::detail::append_code_point(text, c) == valid);
    if (!valid) {
      CHECK(text == "x");
      continue;
    }
    text += "y";
    std::string_view rest = std::string_view(text).substr(1);
    REQUIRE(zarrpoint::detail::take_code_point(rest) == c);
    CHECK(rest == "y");
  }
  std::string_view broken = "\xed\xa0\x80";
  CHECK_FALSE(zarrpoint::detail::take_code_point(broken));
  CHECK(broken.size() == 3);
}

}  // namespace utf8_test

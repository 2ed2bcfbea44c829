// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/base/key.hpp>

#include <doctest/doctest.h>

namespace key_test {

using namespace zarrpoint;

TEST_CASE("store_key: keys that are good") {
  for (const std::string_view text :
       {"", "a", "a/b/c", "c/0/1", ".zarray", "...", "h\u00e9/x y", "a-b_c.d"}) {
    CAPTURE(text);
    CHECK(store_key::parse(text).value().str() == text);
  }
  CHECK(store_key::root().is_root());
  CHECK(store_key::parse("a/b").value().name() == "b");
  CHECK(store_key::parse("a/b").value().parent().str() == "a");
  CHECK(store_key::parse("a").value().parent().is_root());
  CHECK(store_key::root().child("a/b").value() == store_key::parse("a/b").value());
  CHECK(store_key::parse("a").value().child("b").value().str() == "a/b");
  CHECK(store_key::parse("a").value().child("").value().str() == "a");
}

TEST_CASE("store_key: a key cannot leave its store") {
  const std::string nul("a\0b", 3);
  const std::string long_segment(256, 'x');
  const std::string long_key = std::string(200, 'a') + "/" + std::string(200, 'b') + "/" +
                               std::string(200, 'c') + "/" + std::string(200, 'd') + "/" +
                               std::string(230, 'e');
  for (const std::string_view text :
       {std::string_view(".."), std::string_view("../a"), std::string_view("a/.."),
        std::string_view("a/../b"), std::string_view("."), std::string_view("a/./b"),
        std::string_view("/"), std::string_view("/etc/passwd"), std::string_view("a/"),
        std::string_view("a//b"), std::string_view("a\\b"), std::string_view(nul),
        std::string_view("a\nb"), std::string_view("\x7f"), std::string_view("\xff"),
        std::string_view("\xc0\xaf"), std::string_view(long_segment), std::string_view(long_key)}) {
    const auto refused = store_key::parse(text);
    CAPTURE(text);
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::invalid_argument);
    CHECK_FALSE(store_key::parse("a").value().child(text));
  }
  CHECK(store_key::parse("a\nb").failure().message.find("\\x0a") != std::string::npos);
}

}  // namespace key_test

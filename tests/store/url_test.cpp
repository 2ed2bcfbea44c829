// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/base/url.hpp>

#include <doctest/doctest.h>

#include <string>

namespace url_test {

using namespace zarrpoint;

TEST_CASE("url: a scheme before ://, or it is a path") {
  CHECK(url::parse("FILE:///a/b").value().scheme == "file");
  CHECK(url::parse("file:///a/b").value().rest == "/a/b");
  CHECK(url::parse("s3+x-1.2://bucket/key").value().scheme == "s3+x-1.2");
  CHECK(url::parse("zip://x.zip").value().str() == "zip://x.zip");
  for (const char* path : {"", "a/b", "://a", "/a://b", "a b://c", "1a://b", "C:/x", "a:/b"})
    CHECK_FALSE(url::parse(path).has_value());
}

TEST_CASE("url: paths") {
  const auto path = [](std::string_view text) { return url::parse(text).value().path(); };
  CHECK(path("file:///a/b").value() == "/a/b");
  CHECK(path("file://localhost/a").value() == "/a");
  CHECK(path("file://a/b").value() == "a/b");
  CHECK(path("file:///a%20b%2Fc%e2%82%ac").value() == "/a b/c\xe2\x82\xac");
  for (const char* wrong :
       {"file://", "file:///a%", "file:///a%2", "file:///a%2g", "file:///%00"}) {
    INFO(wrong);
    const auto refused = path(wrong);
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::invalid_argument);
  }
  for (const char* kept : {"/a%20b", "localhost/x", "a", "%", "a://b"})
    CHECK(url::of_path("file", kept).path().value().ends_with(kept));
  CHECK(url::of_path("file", "/a%b").path().value() == "/a%b");
}

}  // namespace url_test

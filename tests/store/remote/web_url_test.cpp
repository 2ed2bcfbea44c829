// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/remote.hpp>

#include <doctest/doctest.h>

#include <string>

namespace web_url_test {

using namespace zarrpoint;

TEST_CASE("web_url: parts") {
  const web_url at =
      web_url::parse("HTTPS://me:secret@Example.COM:8443/a%20b/c?x=1&y#part").value();
  CHECK(at.scheme == "https");
  CHECK(at.user == "me:secret");
  CHECK(at.host == "example.com");
  CHECK(at.port == 8443);
  CHECK(at.path == "/a%20b/c");
  CHECK(at.query == "x=1&y");
  CHECK(at.authority() == "example.com:8443");
  CHECK(at.str() == "https://example.com:8443/a%20b/c?x=1&y");
  CHECK(at.shown() == "https://example.com:8443/a%20b/c");

  CHECK(web_url::parse("http://h:80").value().str() == "http://h/");
  CHECK(web_url::parse("https://h:443?q").value().str() == "https://h/?q");
  CHECK(web_url::parse("http://h:443/").value().port == 443);
  const web_url six = web_url::parse("http://[::1]:9/x").value();
  CHECK(six.host == "[::1]");
  CHECK(six.port == 9);
  CHECK(web_url::parse("http://a@b@h/").value().host == "h");
}

TEST_CASE("web_url: what is not such a URL, and no error shows what it hides") {
  for (const char* wrong :
       {"", "h/p", "ftp://h/", "http:///p", "http://:80/", "http://u:secret@/p", "http://h:0/",
        "http://h:65536/", "http://h:8x/", "http://h:/", "http://[::1/p", "http://h/a b?secret",
        "http://h/\r\nX: secret", "http://h\\p/", "http://h\xc3\xa9/secret", "http://h<secret>/",
        "http://h/\x7fsecret"}) {
    INFO(wrong);
    const auto at = web_url::parse(wrong);
    REQUIRE_FALSE(at.has_value());
    CHECK(at.failure().code == errc::invalid_argument);
    CHECK(at.failure().message.find("secret") == std::string::npos);
  }
}

TEST_CASE("web_url: where a redirect leads") {
  const web_url from = web_url::parse("http://h:1/a/b/c?q=1").value();
  const auto to = [&](std::string_view reference) { return from.resolve(reference).value().str(); };
  CHECK(to("https://other/x?y") == "https://other/x?y");
  CHECK(to("//other/x") == "http://other/x");
  CHECK(to("/x/y?z=http://n/") == "http://h:1/x/y?z=http://n/");
  CHECK(to("d") == "http://h:1/a/b/d");
  CHECK(to("../d") == "http://h:1/a/d");
  CHECK(to("../../../../d/.") == "http://h:1/d/");
  CHECK(to("./?n") == "http://h:1/a/b/?n");
  CHECK(to("?n") == "http://h:1/a/b/c?n");
  CHECK(to("") == "http://h:1/a/b/c?q=1");
  CHECK(to("#part") == "http://h:1/a/b/c?q=1");
  for (const char* wrong : {"ftp://h/", "http://", "/a b", "//:0/"}) {
    INFO(wrong);
    CHECK_FALSE(from.resolve(wrong).has_value());
  }
  CHECK(from.same_origin(web_url::parse("HTTP://H:1/other").value()));
  CHECK_FALSE(from.same_origin(web_url::parse("http://h:2/").value()));
  CHECK_FALSE(from.same_origin(web_url::parse("https://h:1/").value()));
}

TEST_CASE("web_url: percent-encoding") {
  CHECK(percent_encode("a/b c~-._\xc3\xa9=") == "a%2Fb%20c~-._%C3%A9%3D");
  CHECK(percent_encode("a/b c+", true) == "a/b%20c%2B");
  CHECK(percent_decode("a%2fb%20c%C3%A9") == "a/b c\xc3\xa9");
  CHECK_FALSE(percent_decode("%").has_value());
  CHECK_FALSE(percent_decode("%2").has_value());
  CHECK_FALSE(percent_decode("%2g").has_value());
}

TEST_CASE("web_url: dates") {
  CHECK(http_date(784111777) == "Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(http_date(0) == "Thu, 01 Jan 1970 00:00:00 GMT");
  CHECK(http_date(951827696) == "Tue, 29 Feb 2000 12:34:56 GMT");
  CHECK(compact_date(1369353600) == "20130524T000000Z");
  for (const std::int64_t at : {std::int64_t{0}, std::int64_t{951827696}, std::int64_t{4102444799}})
    CHECK(parse_http_date(http_date(at)) == at);
  for (const char* wrong :
       {"", "120", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Xxx 1994 08:49:37 GMT", "Sun, 06 ovD 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT"}) {
    INFO(wrong);
    CHECK_FALSE(parse_http_date(wrong).has_value());
  }
}

}  // namespace web_url_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/remote.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace transport_test {

using namespace zarrpoint;

bytes_view bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// A transport that answers all with the same text.
struct parrot {
  std::string head, body, fault{};
  result<http_response> send(const http_request& request) const {
    http_receiver receiver(request);
    for (std::string_view rest = head; !rest.empty();) {
      const std::size_t end = rest.find('\n') + 1;
      if (!receiver.line(rest.substr(0, end))) return receiver.finish();
      rest.remove_prefix(end);
    }
    receiver.body(bytes_of(body));
    return receiver.finish(fault);
  }
};

struct fetched {
  std::array<char, 4> into{"..."};
  http_request request{.url = "http://h/"};
  result<http_response> by(const any_transport& transport) {
    request.into = std::as_writable_bytes(std::span(into));
    return transport.send(request);
  }
  std::string text() const { return {into.data(), into.size()}; }
};

TEST_CASE("transport: the body of the status that was asked for goes to the caller's memory") {
  fetched of;
  const auto answer = of.by(
      parrot{"HTTP/1.1 206 Partial Content\r\nContent-Length: 4\r\nETag:  \"x\" \r\n\r\n", "abcd"});
  REQUIRE(answer.has_value());
  CHECK(answer->status == 206);
  CHECK(answer->whole());
  CHECK(answer->received == 4);
  CHECK(answer->header("etag") == "\"x\"");
  CHECK(answer->header("none").empty());
  CHECK(find_header(answer->headers, "none") == nullptr);
  CHECK(of.text() == "abcd");
}

TEST_CASE("transport: no other body does") {
  fetched of;
  of.request.text_limit = 6;
  auto answer = of.by(parrot{"HTTP/1.1 503 Slow Down\r\n\r\n", "<Error>"});
  REQUIRE(answer.has_value());
  CHECK(answer->status == 503);
  CHECK(answer->text == "<Error");
  CHECK(answer->overflow);
  CHECK_FALSE(answer->whole());
  answer = of.by(parrot{"HTTP/2 200 \r\n\r\n", "abcd"});
  REQUIRE(answer.has_value());
  CHECK(answer->text == "abcd");
  CHECK(answer->whole());
  CHECK(of.text() == std::string("...\0", 4));
}

TEST_CASE("transport: a body cut short, and one that is too long") {
  fetched of;
  auto answer = of.by(parrot{"HTTP/1.1 206 X\r\nContent-Length: 4\r\n\r\n", "ab"});
  REQUIRE(answer.has_value());
  CHECK(answer->received == 2);
  CHECK(answer->fault == "the connection ended after 2 of 4 bytes");
  answer = of.by(parrot{"HTTP/1.1 206 X\r\n\r\n", "abcdef"});
  REQUIRE(answer.has_value());
  CHECK(answer->received == 4);
  CHECK(answer->overflow);
  answer = of.by(parrot{"HTTP/1.1 206 X\r\nContent-Length: 4\r\n\r\n", "abc", "a reset"});
  REQUIRE(answer.has_value());
  CHECK(answer->received == 3);
  CHECK(answer->fault == "a reset");
  of.request.method = "HEAD";
  answer = of.by(parrot{"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", ""});
  REQUIRE(answer.has_value());
  CHECK(answer->whole());
}

TEST_CASE("transport: an interim answer is none, and its headers are not those of the next") {
  fetched of;
  auto answer =
      of.by(parrot{"HTTP/1.1 103 X\r\nLink: y\r\n\r\nHTTP/1.1 206 X\r\nA: b\r\n\r\n", "abcd"});
  REQUIRE(answer.has_value());
  CHECK(answer->status == 206);
  CHECK(answer->headers.size() == 1);
  answer = of.by(parrot{"HTTP/1.1 103 X\r\n\r\n", ""});
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.failure().code == errc::unavailable);
}

TEST_CASE("transport: a head that is refused") {
  fetched of;
  std::string many = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 1001; ++i) many += "A: b\r\n";
  const std::string longer = "HTTP/1.1 200 OK\r\nA: " + std::string(300'000, 'x') + "\r\n";
  std::string interim;
  for (int i = 0; i < 20'000; ++i) interim += "HTTP/1.1 100 X\r\n\r\n";
  for (const std::string& head :
       {many, longer, interim, std::string("HTTP/1.1 OK\r\n"), std::string("HTTP/1.1 999 X\r\n"),
        std::string("HTTP/1.1 200 OK\r\nno header\r\n"),
        std::string("HTTP/1.1 200 OK\r\n: x\r\n")}) {
    const auto answer = of.by(parrot{head, "abcd"});
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.failure().code == errc::io);
  }
}

}  // namespace transport_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/curl.hpp>
#include <zarrpoint/remote.hpp>
#include <zarrpoint/stores.hpp>

#include "support/fake_web.hpp"
#include "support/http_server.hpp"

#include <doctest/doctest.h>

#include <sys/wait.h>

#include <array>
#include <atomic>
#include <random>
#include <string>

namespace curl_test {

using namespace zarrpoint;
using http_server::reply;
using http_server::with_length;
using std::chrono::milliseconds;

/// Of this machine, whatever the environment says of proxies.
curl_options direct() { return {.proxy = "none"}; }

struct fetched {
  std::array<char, 16> into{};
  http_request request{.times = {.connect = milliseconds(5000), .stall = milliseconds(1000)}};
  result<http_response> from(const http_server::server& server) {
    return from(server, curl_transport(direct()));
  }
  result<http_response> from(const http_server::server& server, const curl_transport& by) {
    REQUIRE(server.is_up());
    request.url = server.url() + "/x";
    request.into = std::as_writable_bytes(std::span(into));
    return by.send(request);
  }
  std::string text(std::size_t size) const { return {into.data(), size}; }
};

http_server::server always(reply what) {
  return http_server::server([what](const http_server::request&) { return what; });
}

TEST_CASE("curl: a request as it goes over the wire, and its answer") {
  std::string head, body;
  http_server::server server([&](const http_server::request& got) {
    head = got.head, body = got.body;
    return reply{with_length("206 Partial Content", "ETag: \"x\"\r\n", "abcd")};
  });
  fetched at;
  at.request.headers = {{"Range", "bytes=0-3"}, {"X-Empty", ""}};
  auto answer = at.from(server);
  REQUIRE(answer.has_value());
  CHECK(answer->status == 206);
  CHECK(answer->received == 4);
  CHECK(answer->whole());
  CHECK(answer->header("etag") == "\"x\"");
  CHECK(at.text(4) == "abcd");
  CHECK(head.starts_with("GET /x HTTP/1.1\r\n"));
  CHECK(head.find("\r\nRange: bytes=0-3\r\n") != head.npos);
  CHECK(head.find("\r\nX-Empty:") != head.npos);
  CHECK(head.find("Accept-Encoding") == head.npos);

  const std::array<bytes_view, 3> parts{std::as_bytes(std::span("one", 3)), bytes_view(),
                                        std::as_bytes(std::span("two", 3))};
  for (const char* method : {"PUT", "POST"}) {
    at.request.method = method;
    at.request.body = parts;
    REQUIRE(at.from(server).has_value());
    CHECK(head.starts_with(std::string(method) + " /x"));
    CHECK(head.find("Expect") == head.npos);
    CHECK(body == "onetwo");
    at.request.body = {};
    REQUIRE(at.from(server).has_value());
    CHECK(head.find("\r\nContent-Length: 0\r\n") != head.npos);
  }
  at.request.method = "DELETE";
  REQUIRE(at.from(server).has_value());
  CHECK(head.starts_with("DELETE /x"));
}

TEST_CASE("curl: HEAD, and an error that does not get into the caller's memory") {
  fetched at;
  at.request.method = "HEAD";
  const auto head = always({"HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n"});
  auto answer = at.from(head);
  REQUIRE(answer.has_value());
  CHECK(answer->whole());
  CHECK(answer->header("Content-Length") == "77");
  at.request.method = "GET";
  const auto failing = always({with_length("503 Slow Down", "", "<Error/>")});
  answer = at.from(failing);
  REQUIRE(answer.has_value());
  CHECK(answer->text == "<Error/>");
  CHECK(at.into == std::array<char, 16>{});
}

TEST_CASE("curl: what servers do wrong") {
  const std::string head = "HTTP/1.1 206 X\r\n";
  const auto fault_of = [](reply what) {
    fetched at;
    const auto server = always(std::move(what));
    const auto answer = at.from(server);
    if (!answer) return "error " + std::string(to_string(answer.failure().code));
    return std::to_string(answer->received) + (answer->whole()    ? " whole"
                                               : answer->overflow ? " more"
                                                                  : " cut");
  };
  CHECK(fault_of({head + "Content-Length: 8\r\n\r\nabcd", reply::close}) == "4 cut");
  CHECK(fault_of({head + "Content-Length: 8\r\n\r\nabcd", reply::hold}) == "4 cut");  // a stall
  CHECK(fault_of({head + "Content-Length: 8\r\n\r\nab", reply::reset}).ends_with(" cut"));
  CHECK(fault_of({head + "\r\nabcd", reply::close}) == "4 whole");
  CHECK(fault_of({head + "Content-Length: 20\r\n\r\n" + std::string(20, 'a')}) == "16 more");
  CHECK(fault_of({head + "\r\n", reply::close, std::string(4096, 'a')}) == "16 more");  // endless
  CHECK(fault_of({head + "Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n"}) == "4 whole");
  CHECK(fault_of({head + "Transfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n", reply::close}) ==
        "4 cut");
  CHECK(fault_of({"", reply::close}) == "error unavailable");
  CHECK(fault_of({"", reply::reset}) == "error unavailable");
  CHECK(fault_of({"", reply::hold}) == "error unavailable");
  CHECK(fault_of({"HTTP/1.1 206 X\r\n", reply::close, "A: b\r\n"}) ==
        "error io");  // endless headers
  CHECK(fault_of({"HTTP/1.1 100 X\r\n\r\n", reply::close, "HTTP/1.1 100 X\r\n\r\n"})
            .starts_with("error "));
  CHECK(fault_of({"SSH-2.0\r\nabcd", reply::close}) == "error io");  // is not HTTP
  CHECK(fault_of({"HTTP/1.1 206 X\r\nA", reply::close, std::string(4096, 'a')}) == "0 cut");
}

TEST_CASE("curl: connections are kept, also among threads; requests run at once") {
  unsigned drivers = 0;
  SUBCASE("of one driver") { drivers = 1; }
  SUBCASE("of two") { drivers = 2; }
  SUBCASE("of more than there may be transfers") { drivers = 5; }
  std::atomic<unsigned> now = 0, most = 0;
  http_server::server server([&](const http_server::request& got) {
    const unsigned at = ++now;
    for (unsigned before = most; before < at && !most.compare_exchange_weak(before, at);) {
    }
    std::this_thread::sleep_for(milliseconds(20));
    --now;
    return reply{with_length("206 X", "", got.head.substr(5, 1))};
  });
  curl_options how = direct();
  how.transfers = 4;
  how.threads = drivers;
  const curl_transport by(how);
  std::atomic<unsigned> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (unsigned i = 0; i < 5; ++i) {
        fetched at;
        const auto answer = at.from(server, by);
        wrong += answer && answer->whole() && at.text(1) == "x" ? 0U : 1U;
      }
    });
  }
  for (std::thread& one : threads) one.join();
  CHECK(wrong == 0);
  CHECK(server.connections() <= std::max(8U, 4 * drivers));
  CHECK(most >= 2);
  CHECK(most <= 4);
}

TEST_CASE("curl: requests one after the other share a connection, whatever threads there are") {
  const auto server = always({with_length("206 X", "", "x")});
  curl_options how = direct();
  how.threads = 4;
  const curl_transport by(how);
  for (int i = 0; i < 5; ++i) {
    fetched at;
    CHECK(at.from(server, by).has_value());
  }
  CHECK(server.connections() == 1);
}

TEST_CASE("curl: what waits for others can be stopped, too") {
  const auto silent = always({"", reply::hold});
  curl_options how = direct();
  how.transfers = 1;
  const curl_transport by(how);
  stop_source first, second;
  std::thread holds([&] {
    fetched at;
    at.request.times = {.stall = milliseconds(0)};
    at.request.stop = first.token();
    CHECK(at.from(silent, by).failure().code == errc::cancelled);
  });
  while (silent.connections() == 0) std::this_thread::sleep_for(milliseconds(1));
  second.request_stop();
  fetched at;
  at.request.stop = second.token();
  const auto answer = at.from(silent, by);
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.failure().code == errc::cancelled);
  first.request_stop();
  holds.join();
}

TEST_CASE("curl: times, a stop, and what cannot be reached") {
  fetched at;
  const auto silent = always({"", reply::hold});
  at.request.times = {.stall = milliseconds(0), .total = milliseconds(100)};
  auto answer = at.from(silent);
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.failure().code == errc::unavailable);
  // Nothing else would end it.
  at.request.times = {
      .connect = milliseconds(0), .stall = milliseconds(0), .total = milliseconds(0)};
  stop_source stop;
  at.request.stop = stop.token();
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(50));
    stop.request_stop();
  });
  answer = at.from(silent);
  later.join();
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.failure().code == errc::cancelled);

  const curl_transport by(direct());
  CHECK(by.send({.url = "http://127.0.0.1:1/"}).failure().code == errc::unavailable);
  CHECK(by.send({.url = "ftp://127.0.0.1/"}).failure().code == errc::io);
  CHECK(by.send({.url = "http://a b/"}).failure().code == errc::invalid_argument);
  const auto no_proxy_there = curl_transport({.proxy = "http://127.0.0.1:1"});
  CHECK(no_proxy_there.send({.url = "http://h/"}).failure().code == errc::unavailable);
}

TEST_CASE("curl: a child of fork goes its own way") {
  const auto server = always({with_length("206 X", "", "abcd")});
  const curl_transport by(direct());
  fetched at;
  CHECK(at.from(server, by).has_value());
  const ::pid_t child = ::fork();
  if (child == 0) {
    fetched own;
    const auto answer = own.from(server, by);
    ::_exit(answer && own.text(4) == "abcd" ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(at.from(server, by).has_value());
}

TEST_CASE("curl: schedules of faults on a socket end in the right bytes or a named error") {
  const std::string object = fake_web::some_bytes(300'000);
  std::mutex mutex;
  std::mt19937 random;
  http_server::server server([&](const http_server::request& got) {
    const std::lock_guard lock(mutex);
    std::string whole = http_server::of_object(got, object);
    switch (random() % 8) {
      case 0: return reply{with_length("503 X", "", "later")};
      case 1: return reply{"", reply::reset};
      case 2: return reply{whole.substr(0, random() % whole.size()), reply::close};
      case 3: return reply{whole.substr(0, random() % whole.size()), reply::reset};
      case 4: return reply{std::move(whole), reply::keep, {}, milliseconds(random() % 5)};
      default: return reply{std::move(whole)};
    }
  });
  REQUIRE(server.is_up());
  http_store_options how;
  how.retry.first_wait = milliseconds(1);
  how.retry.attempts = 4;
  const auto store = http_store::open(server.url(), curl_transport(direct()), how).value();
  unsigned well = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    {
      const std::lock_guard lock(mutex);
      random.seed(seed);
    }
    const auto opened = store.open(store_key::parse("x").value());
    if (!opened) {
      CHECK(opened.failure().code == errc::unavailable);
      continue;
    }
    std::string into(object.size() - 1000, '\0');
    const auto done = (*opened)->read(500, std::as_writable_bytes(std::span(into)));
    if (done) {
      CHECK(into == object.substr(500, into.size()));
      ++well;
    } else {
      CHECK(done.failure().code == errc::unavailable);
    }
  }
  CHECK(well > 20);
}

}  // namespace curl_test

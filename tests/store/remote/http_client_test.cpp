// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/remote.hpp>

#include "support/fake_web.hpp"

#include <doctest/doctest.h>

#include <string>

namespace http_client_test {

using namespace zarrpoint;
using fake_web::fault;
using std::chrono::milliseconds;

struct served {
  fake_web::server server;
  http_exchange how{.name = "http://h/x", .budget = "h"};
  retry_options options{};

  served() { server.state->objects["/x"] = {fake_web::some_bytes(1000)}; }

  fake_web::server_state& state() const { return *server.state; }
  http_client client() {
    options.clock = server.state->clock;
    return http_client(server, options);
  }
  result<http_response> get(const http_client& by) { return by.send({.url = "http://h/x"}, how); }
  result<http_response> get() { return get(client()); }
};

TEST_CASE("http_client: what may pass is tried again, with longer and longer waits") {
  for (const unsigned status : {408U, 429U, 500U, 502U, 503U, 504U}) {
    served at;
    at.state().faults = {
        {fault::status, status}, {fault::refuse}, {fault::cut, 10}, {fault::status, status}};
    const auto answer = at.get();
    REQUIRE(answer.has_value());
    CHECK(answer->status == 200);
    CHECK(answer->text == at.state().objects["/x"].bytes);
    CHECK(at.state().requests.size() == 5);
    CHECK(at.state().clock->waits ==
          std::vector{milliseconds(50), milliseconds(100), milliseconds(200), milliseconds(400)});
  }
}

TEST_CASE("http_client: what will not pass is told at once, in the words of the service") {
  for (const unsigned status : {400U, 401U, 403U, 404U, 409U, 412U, 501U}) {
    served at;
    at.state().faults = {{fault::status, status}};
    const auto answer = at.get();
    REQUIRE(answer.has_value());
    CHECK(answer->status == static_cast<int>(status));
    CHECK(at.state().requests.size() == 1);
    const error told = http_failure(*answer, "GET", "http://h/x");
    CHECK(told.message == "GET http://h/x: status " + std::to_string(status) +
                              ": SlowDown: Please wait. (request id R1)");
    CHECK(told.code == (status == 404   ? errc::not_found
                        : status == 412 ? errc::replaced
                                        : errc::io));
  }
}

TEST_CASE("http_client: the words of other services") {
  http_response answer{.status = 403};
  answer.text = R"({"error": {"code": 403, "message": "No access to\tthat", "x": "message"}})";
  CHECK(http_failure(answer, "PUT", "n").message == "PUT n: status 403: No access to\\tthat");
  answer.text = "<html>secret</html>";
  answer.headers = {
      {"X-Error-Code", "GatedRepo"}, {"X-Error-Message", "Ask\nfor it"}, {"X-Request-Id", "7"}};
  CHECK(http_failure(answer, "GET", "n").message ==
        "GET n: status 403: GatedRepo: Ask?for it (request id 7)");
}

TEST_CASE("http_client: attempts, time and budget end") {
  served at;
  at.state().faults.assign(100, {fault::status, 503});
  auto answer = at.get();
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.failure().code == errc::unavailable);
  CHECK(answer.failure().message ==
        "GET http://h/x: status 503: SlowDown: Please wait. (request id R1), after 6 attempts");
  CHECK(at.state().requests.size() == 6);

  served late;
  late.options.deadline = milliseconds(1000);
  late.state().faults.assign(100, {fault::slow, 400});
  for (fault& one : late.state().faults) one = {fault::status, 503, "0"};
  late.state().faults[0] = {fault::slow, 5000};
  answer = late.get();
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.failure().message ==
        "GET http://h/x: the time for it is over; the time for it is over");
  CHECK(late.state().requests.size() == 1);
  CHECK(late.state().clock->now().time_since_epoch() == milliseconds(1000));

  served poor;
  poor.options.budget = 7;
  poor.state().faults.assign(100, {fault::status, 503});
  const http_client shared = poor.client();
  CHECK_FALSE(poor.get(shared).has_value());  // takes 5
  answer = poor.get(shared);
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.failure().message.ends_with(
      "after 3 attempts; too many requests there failed lately"));
  CHECK(poor.state().requests.size() == 9);
  poor.how.budget = "other";  // which is not the same place
  CHECK_FALSE(poor.get(shared).has_value());
  CHECK(poor.state().requests.size() == 15);
  poor.state().faults.clear();
  poor.how.budget = "h";
  CHECK(poor.get(shared).has_value());  // gives one back
  poor.state().faults.assign(1, {fault::refuse});
  CHECK(poor.get(shared).has_value());
}

TEST_CASE("http_client: Retry-After, in seconds and as a date") {
  for (const char* text : {"3", "Sun, 06 Nov 1994 08:49:40 GMT"}) {
    served at;
    at.state().faults = {{fault::status, 503, text}};
    CHECK(at.get().has_value());
    CHECK(at.state().clock->waits == std::vector{milliseconds(3000)});
  }
  served at;
  at.state().faults = {{fault::status, 429, "3600"}};
  const auto answer = at.get();
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.failure().message.ends_with("; the server asks to wait for 3600 s"));
  at.state().faults = {{fault::status, 503, "-1"}, {fault::status, 503, "99999999999999999999"}};
  CHECK(at.get().has_value());  // neither is a time
}

TEST_CASE("http_client: what may have been done is not done again") {
  served at;
  at.how.repeatable = false;
  at.state().faults = {{fault::status, 503}, {fault::status, 429}};
  CHECK(at.get().has_value());  // these were not
  for (const fault& one : {fault{fault::status, 500}, fault{fault::refuse}, fault{fault::cut, 3}}) {
    at.state().faults = {one};
    const auto answer = at.get();
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.failure().code == errc::outcome_unknown);
  }
}

TEST_CASE("http_client: redirects, and what goes to another host") {
  served at;
  at.how.redirects = 3;
  at.state().leads = {{"/a", "/b?q"},     {"/b", "https://other/c"}, {"/c", "/x"},
                      {"/loop", "/loop"}, {"/down", "http://h/x"},   {"/ftp", "ftp://h/x"}};
  unsigned prepared = 0;
  at.how.prepare = [&](http_request&) -> result<void> { return ++prepared, result<void>(); };
  std::string led;
  const http_client by = at.client();
  http_request request{.url = "http://h/a",
                       .headers = {{"Authorization", "secret"},
                                   {"cookie", "secret"},
                                   {"x-amz-security-token", "secret"},
                                   {"X-Api-Key", "secret"},
                                   {"range", "bytes=0-1"}}};
  auto answer = by.send(request, at.how, &led);
  REQUIRE(answer.has_value());
  CHECK(answer->status == 206);  // the range went there, too
  CHECK(led == "https://other/x");
  REQUIRE(at.state().requests.size() == 4);
  CHECK(at.state().requests[1].url == "http://h/b?q");
  CHECK(at.state().requests[1].headers.size() == 5);
  CHECK(at.state().requests[2].headers.size() == 1);
  CHECK(at.state().requests[3].headers.size() == 1);
  CHECK(prepared == 2);
  for (const char* url : {"http://h/loop", "https://h/down", "http://h/ftp"}) {
    request.url = url;
    answer = by.send(request, at.how);
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.failure().code == errc::io);
  }
  CHECK(at.state().requests.size() == 4 + 4 + 1 + 1);
  at.how.redirects = 0;  // a redirect is an answer
  request.url = "http://h/a";
  CHECK(by.send(request, at.how).value().status == 302);
}

TEST_CASE("http_client: a stop") {
  served at;
  stop_source stop;
  stop.request_stop();
  const auto answer = at.client().send({.url = "http://h/x", .stop = stop.token()}, at.how);
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.failure().code == errc::cancelled);
  CHECK(at.state().requests.empty());
}

// ------------------------------------------------------------------------------ ranges of an
// object

struct read_back : served {
  std::string into = std::string(500, '\0');
  http_object of{.size = 1000, .etag = "\"one\""};

  result<void> read(std::uint64_t offset = 100) {
    return client().read({.url = "http://h/x", .into = std::as_writable_bytes(std::span(into))},
                         how, of, offset);
  }
  bool is_right(std::size_t offset = 100) {
    return into == state().objects["/x"].bytes.substr(offset, into.size());
  }
};

TEST_CASE("http_client: a range goes on where it was cut short") {
  read_back at;
  at.state().faults = {
      {fault::cut, 200}, {fault::refuse}, {fault::cut_quietly, 50}, {fault::status, 503}};
  REQUIRE(at.read().has_value());
  CHECK(at.is_right());
  std::vector<std::string> ranges;
  for (const http_request& one : at.state().requests) {
    ranges.push_back(fake_web::header_of(one, "Range"));
    CHECK(fake_web::header_of(one, "If-Match") == "\"one\"");
  }
  CHECK(ranges == std::vector<std::string>{"bytes=100-599", "bytes=300-599", "bytes=300-599",
                                           "bytes=350-599", "bytes=350-599"});
}

TEST_CASE("http_client: an object that has changed") {
  read_back at;
  at.state().faults = {{fault::cut, 200}, {fault::change}};
  auto done = at.read();
  REQUIRE_FALSE(done.has_value());
  CHECK(done.failure().code == errc::replaced);
  at.of.etag = "W/\"one\"";  // is not a condition, but is compared
  done = at.read();
  REQUIRE_FALSE(done.has_value());
  CHECK(done.failure().code == errc::replaced);
  CHECK(fake_web::header_of(at.state().requests.back(), "If-Match").empty());
}

TEST_CASE("http_client: what servers do wrong has a name") {
  const auto told = [](fault what, std::uint64_t offset = 100) {
    read_back at;
    at.state().faults = {what};
    const auto done = at.read(offset);
    CHECK(at.state().requests.size() == 1);
    return done ? "well" : to_string(done.failure());
  };
  CHECK(
      told({fault::ignore_range}) ==
      "unsupported: GET http://h/x: the server ignores ranges: it sends all of it where a part was "
      "asked for");
  CHECK(told({fault::wrong_range}) ==
        "io: GET http://h/x: the server sends another range than it was asked for");
  CHECK(told({fault::more}) ==
        "io: GET http://h/x: the server sends more bytes than it was asked for");
  CHECK(told({fault::encoded})
            .starts_with("unsupported: GET http://h/x: the server encodes the body (gzip)"));
  CHECK(told({fault::status, 403}).starts_with("io: GET http://h/x: status 403: SlowDown"));
  CHECK(told({fault::none}, 2000) ==
        "replaced: GET http://h/x: it has changed since it was opened");
}

TEST_CASE("http_client: all of an object needs no ranges") {
  read_back at;
  at.into.resize(1000);
  at.state().faults = {{fault::ignore_range}};
  REQUIRE(at.read(0).has_value());
  CHECK(at.is_right(0));
  CHECK(fake_web::header_of(at.state().requests[0], "Range").empty());
}

TEST_CASE("http_client: Content-Range") {
  const auto parse = [](std::string_view text) { return detail::parse_content_range(text); };
  CHECK(parse("bytes 0-9/100")->size == 100);
  CHECK(parse("Bytes 5-9/*")->first == 5);
  CHECK(parse("bytes */7")->size == 7);
  for (const char* wrong :
       {"", "bytes", "bytes 0-9", "bytes 9-0/10", "bytes 0-10/10", "bytes -9/10", "bytes 0-/10",
        "bytes 0-9/x", "items 0-9/10", "bytes 0-9/-1", "bytes 0-18446744073709551615/*",
        "bytes 0-99999999999999999999/*"}) {
    INFO(wrong);
    CHECK_FALSE(parse(wrong).has_value());
  }
}

}  // namespace http_client_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/remote.hpp>
#include <zarrpoint/stores.hpp>

#include "support/fake_web.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace http_store_test {

using namespace zarrpoint;
using fake_web::fault;

struct served {
  fake_web::server server;
  http_store_options how{};

  served() {
    how.first_bytes = 100;
    how.kept_blocks = 0;
    state().objects["/top/a"] = {fake_web::some_bytes(1000)};
    state().objects["/top/a%20b/c"] = {fake_web::some_bytes(40, 2)};
    state().objects["/top/none"] = {""};
  }
  fake_web::server_state& state() const { return *server.state; }
  http_store store(std::string_view url = "http://h/top") {
    how.retry.clock = server.state->clock;
    return http_store::open(url, server, how).value();
  }
  std::unique_ptr<blob> open(const char* key = "a", std::string_view url = "http://h/top") {
    auto opened = store(url).open(store_key::parse(key).value()).value();
    REQUIRE(opened != nullptr);
    return opened;
  }
};

result<std::string> read(const blob& from, std::uint64_t offset, std::size_t size) {
  std::string out(size, '\0');
  ZARRPOINT_CHECK(from.read(offset, std::as_writable_bytes(std::span(out))));
  return out;
}

TEST_CASE("http_store: objects by their keys") {
  served at;
  const auto opened = at.open();
  const std::string& bytes = at.state().objects["/top/a"].bytes;
  CHECK(opened->size() == 1000);
  CHECK(opened->name() == "http://h/top/a");
  CHECK(read(*opened, 0, 100).value() == bytes.substr(0, 100));
  CHECK(at.state().requests.size() == 1);  // they came with the first request
  CHECK(read(*opened, 50, 200).value() == bytes.substr(50, 200));
  CHECK(fake_web::header_of(at.state().requests.back(), "Range") == "bytes=100-249");
  CHECK(read(*opened, 990, 10).value() == bytes.substr(990));
  CHECK(read(*opened, 0, 1000).value() == bytes);
  CHECK(read(*opened, 1000, 0).value().empty());
  CHECK(read(*opened, 991, 10).failure().code == errc::out_of_range);
  CHECK(read(*opened, UINT64_MAX, 10).failure().code == errc::out_of_range);

  const auto small = at.open("a b/c");
  const std::size_t before = at.state().requests.size();
  CHECK(read(*small, 0, 40).value() == fake_web::some_bytes(40, 2));
  CHECK(at.state().requests.size() == before);
  CHECK(at.open("none")->size() == 0);
  CHECK(at.store().open(store_key::parse("missing").value()).value() == nullptr);
  CHECK(at.store().open(store_key::root()).value() == nullptr);
  CHECK(at.store().describe(store_key::parse("a b").value()) == "http://h/top/a%20b");
}

TEST_CASE("http_store: a query stays, and neither it nor credentials are shown") {
  served at;
  auto opened = at.open("a", "http://user:p%40ss@h/top/?sig=secret");
  for (const http_request& one : at.state().requests) {
    CHECK(one.url == "http://h/top/a?sig=secret");
    CHECK(fake_web::header_of(one, "Authorization") == "Basic dXNlcjpwQHNz");
  }
  at.state().objects.clear();
  const auto lost = read(*opened, 200, 10);
  REQUIRE_FALSE(lost.has_value());
  CHECK(lost.failure().message == "GET http://h/top/a: status 404");
  CHECK_FALSE(http_store::open("http://u:%zz@h/", at.server).has_value());
  CHECK_FALSE(http_store::open("s3://h/", at.server).has_value());
  CHECK_FALSE(
      http_store::open("http://h/", at.server, {.headers = {{"A", "b\r\nC: d"}}}).has_value());
}

TEST_CASE("http_store: an object that is another one by now") {
  served at;
  const auto opened = at.open();
  const auto version = opened->version();
  CHECK(version.has_value());
  CHECK(at.open()->version() == version);
  at.state().faults = {{fault::change}};
  const auto changed = read(*opened, 200, 10);
  REQUIRE_FALSE(changed.has_value());
  CHECK(changed.failure().code == errc::replaced);
  CHECK(at.open()->version() != version);
  at.state().sends_etag = false;
  CHECK_FALSE(at.open()->version().has_value());
}

TEST_CASE("http_store: a server without ranges") {
  served at;
  at.state().faults.assign(10, {fault::ignore_range});
  const auto small = at.open("a b/c");
  CHECK(read(*small, 10, 20).value() == fake_web::some_bytes(40, 2).substr(10, 20));
  at.how.first_bytes = 10;
  at.state().objects["/top/a"].bytes = fake_web::some_bytes(100'000);
  const auto large = at.open();
  CHECK(large->size() == 100'000);
  CHECK(read(*large, 0, 100'000).value() == fake_web::some_bytes(100'000));
  const auto part = read(*large, 1, 10);
  REQUIRE_FALSE(part.has_value());
  CHECK(part.failure().code == errc::unsupported);
}

TEST_CASE("http_store: what is wrong with a first answer has a name") {
  for (const fault::kind what : {fault::wrong_range, fault::more, fault::encoded}) {
    served at;
    at.state().faults = {{what}};
    const auto opened = at.store().open(store_key::parse("a").value());
    REQUIRE_FALSE(opened.has_value());
    CHECK(opened.failure().code == (what == fault::encoded ? errc::unsupported : errc::io));
    CHECK(opened.failure().message.starts_with("GET http://h/top/a: the server "));
  }
  served at;
  at.state().faults = {{fault::status, 403}};
  CHECK(at.store().open(store_key::parse("a").value()).failure().code == errc::io);
}

TEST_CASE("http_store: an empty object of a server that tells no size of it") {
  served at;
  at.state().tells_size = false;
  CHECK(at.open("none")->size() == 0);
  // Another refusal of a range says nothing of the size.
  at.state().faults = {{fault::status, 416}};
  const auto opened = at.store().open(store_key::parse("a").value());
  REQUIRE_FALSE(opened.has_value());
  CHECK(opened.failure().code == errc::io);
}

TEST_CASE("http_store: redirects, to which headers go, and which end") {
  served at;
  at.state().leads = {{"/resolve/a", "https://cdn/top/a?sig=1"}, {"/resolve/d", "/resolve/d/"}};
  at.how.headers = {{"Authorization", "Bearer secret"}, {"X-Client", "me"}, {"User-Agent", "us"}};
  at.how.prepare = [](http_request& request) -> result<void> {
    request.headers.push_back({"X-Signed", "yes"});
    return {};
  };
  const auto opened = at.open("a", "http://h/resolve");
  CHECK(read(*opened, 100, 900).value() == fake_web::some_bytes(1000).substr(100));
  REQUIRE(at.state().requests.size() == 3);
  CHECK(at.state().requests[2].url == "https://cdn/top/a?sig=1");
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(fake_web::header_of(at.state().requests[i], "Authorization").empty() == (i != 0));
    CHECK(fake_web::header_of(at.state().requests[i], "X-Signed").empty() == (i != 0));
    CHECK(fake_web::header_of(at.state().requests[i], "X-Client").empty() == (i != 0));
    CHECK(fake_web::header_of(at.state().requests[i], "User-Agent") == "us");
  }
  // The signature ends: it is asked for anew, once.
  at.state().leads["/resolve/a"] = "https://cdn/top/a?sig=2";
  at.state().faults = {{fault::status, 403}};
  CHECK(read(*opened, 200, 10).value() == fake_web::some_bytes(1000).substr(200, 10));
  CHECK(at.state().requests.back().url == "https://cdn/top/a?sig=2");
  CHECK(read(*opened, 300, 10).has_value());
  CHECK(at.state().requests.back().url == "https://cdn/top/a?sig=2");
  at.state().faults = {{fault::status, 403}, {fault::status, 403}};
  CHECK(read(*opened, 300, 10).failure().code == errc::io);

  at.state().objects["/resolve/d/"] = {"<html>a listing</html>"};
  at.state().leads["/resolve/d/"] = "/resolve/d/";
  at.state().leads.erase("/resolve/d/");
  CHECK(at.store("http://h/resolve/d").open_address().value() == nullptr);
  CHECK(at.store("http://h/top/a").open_address().value()->size() == 1000);
}

TEST_CASE("http_store: ranges that lie near each other are one request") {
  served at;
  at.how.joined_gap = 16;
  const auto opened = at.open();
  const std::string& bytes = at.state().objects["/top/a"].bytes;
  std::string one(20, 0), two(30, 0), three(10, 0), four(10, 0), none;
  const auto span = [](std::string& text) { return std::as_writable_bytes(std::span(text)); };
  const read_request wanted[] = {
      {500, span(three)}, {200, span(one)}, {236, span(two)}, {210, span(four)}, {0, span(none)}};
  const std::size_t before = at.state().requests.size();
  REQUIRE(opened->read(wanted).has_value());
  CHECK(at.state().requests.size() == before + 2);
  CHECK(one == bytes.substr(200, 20));
  CHECK(two == bytes.substr(236, 30));
  CHECK(three == bytes.substr(500, 10));
  CHECK(four == bytes.substr(210, 10));
  const read_request outside[] = {{200, span(one)}, {995, span(three)}};
  CHECK(opened->read(outside).failure().code == errc::out_of_range);
}

TEST_CASE("http_store: small reads one after the other are few requests, apart they are not") {
  served at;
  at.how.kept_blocks = 4;
  std::string& bytes = at.state().objects["/top/a"].bytes;
  bytes = fake_web::some_bytes(3 << 20);
  const auto opened = at.open();
  std::size_t before = at.state().requests.size();
  for (std::size_t i = 0; i < 1000; ++i)
    CHECK(read(*opened, 1000 + 2500 * i, 2000).value() == bytes.substr(1000 + 2500 * i, 2000));
  CHECK(at.state().requests.size() - before <= 7);  // the first, those at the edges of blocks
  before = at.state().requests.size();
  const auto other = at.open();
  for (std::size_t i = 0; i < 10; ++i) CHECK(read(*other, 300'000 * i, 200).has_value());
  CHECK(at.state().requests.size() - before == 11);
  at.how.kept_blocks = 0;
  const auto none = at.open();
  before = at.state().requests.size();
  for (std::size_t i = 0; i < 10; ++i) CHECK(read(*none, 1000 + 250 * i, 200).has_value());
  CHECK(at.state().requests.size() - before == 10);
}

TEST_CASE("http_store: an edge of blocks within a small read takes no request of its own") {
  served at;
  at.how.kept_blocks = 4;
  std::string& bytes = at.state().objects["/top/a"].bytes;
  bytes = fake_web::some_bytes(3 << 20);
  const auto opened = at.open();
  const std::uint64_t edge = 1 << 20;
  CHECK(read(*opened, edge - 9000, 1000).value() == bytes.substr(edge - 9000, 1000));
  at.state().requests.clear();
  CHECK(read(*opened, edge - 7000, 10'000).value() == bytes.substr(edge - 7000, 10'000));
  CHECK(at.state().requests.size() == 2);
  CHECK(read(*opened, edge - 3000, 20'000).value() == bytes.substr(edge - 3000, 20'000));
  CHECK(read(*opened, 2 * edge - 1, 1).value() == bytes.substr(2 * edge - 1, 1));
  CHECK(at.state().requests.size() == 2);
}

/// A server that answers one range only when all others of a list were asked for.
class holding_server {
 public:
  explicit holding_server(fake_web::server to) : to_(std::move(to)) {}

  /// Holds the request for block `block` of 1 MiB until those for all of `others` have come.
  void hold(unsigned block, std::vector<unsigned> others) const {
    const std::lock_guard lock(state_->mutex);
    state_->held = range(block);
    state_->missing.clear();
    for (const unsigned one : others) state_->missing.insert(range(one));
    state_->has_come = false;
  }
  bool wait_for_held() const {
    std::unique_lock lock(state_->mutex);
    return state_->changed.wait_for(lock, std::chrono::seconds(10),
                                    [&] { return state_->has_come; });
  }
  result<http_response> send(const http_request& request) const {
    const std::string asked = fake_web::header_of(request, "Range");
    {
      std::unique_lock lock(state_->mutex);
      state_->missing.erase(asked);
      state_->has_come |= asked == state_->held;
      state_->changed.notify_all();
      const auto all_came = [&] { return state_->missing.empty(); };
      if (asked == state_->held &&
          !state_->changed.wait_for(lock, std::chrono::seconds(10), all_came))
        return error{errc::io, "the others do not come"};
    }
    return to_.send(request);
  }

  static std::string range(unsigned block) {
    return "bytes=" + std::to_string(block << 20) + '-' + std::to_string((block << 20) + 0xfffff);
  }

 private:
  struct state {
    std::mutex mutex{};
    std::condition_variable changed{};
    std::string held{};
    std::set<std::string> missing{};
    bool has_come = false;
  };
  fake_web::server to_;
  std::shared_ptr<state> state_ = std::make_shared<state>();
};

TEST_CASE("http_store: who waits for a block of small reads fetches the next ones") {
  const fake_web::server server;
  const holding_server by(server);
  const std::string bytes = fake_web::some_bytes(12 << 20);
  server.state->objects["/top/a"] = {bytes};
  const auto store = http_store::open(
      "http://h/top", by, {.retry = {.clock = server.state->clock}, .first_bytes = 100});
  const auto opened = store.value().open(store_key::parse("a").value()).value();
  const auto check = [&](std::uint64_t offset) {
    const auto got = read(*opened, offset, 1000);
    CHECK((got && *got == bytes.substr(static_cast<std::size_t>(offset), 1000)));
  };
  const auto sent = [&] {
    std::multiset<std::string> out;
    for (const http_request& one : server.state->requests)
      out.insert(fake_web::header_of(one, "Range"));
    server.state->requests.clear();
    return out;
  };
  /// Reads of two threads, one while the block of the other is held.
  const auto both = [&](std::uint64_t first, std::uint64_t second) {
    std::thread other([&] { check(first); });
    const bool is_held = by.wait_for_held();
    if (is_held) check(second);
    other.join();
    REQUIRE(is_held);
  };
  constexpr std::uint64_t block = 1 << 20;
  for (std::uint64_t i = 0; i < 11; ++i) check(200 + 100'000 * i);
  CHECK(sent().size() == 3);  // the opening, the first read, and a block: one thread reads no more
  by.hold(1, {2, 3, 4, 5, 6});
  // One of them cannot be read, which nobody is told.
  server.state->faults = {{fault::status, 403}, {fault::status, 403}};
  both(block + 1000, block + 3000);
  CHECK(server.state->faults.empty());
  std::multiset<std::string> ahead;
  for (unsigned i = 1; i <= 6; ++i) ahead.insert(by.range(i));
  auto seen = sent();
  seen.erase("bytes=0-0");  // whether a redirect had been for a time only
  CHECK(seen == ahead);
  // Who wants it reads it. What was read ahead is there.
  check(2 * block + 5000);
  CHECK(sent() == std::multiset<std::string>{by.range(2)});
  for (std::uint64_t i = 3; i <= 6; ++i) check(i * block + 5000);
  CHECK(sent().empty());
  // What lies behind an end that was read is not read ahead.
  CHECK(read(*opened, 9 * block, 3 * block).value() == bytes.substr(9 << 20));
  check(7 * block - 3000);
  CHECK(sent().size() == 1);
  by.hold(7, {8});
  both(7 * block, 7 * block + 2000);
  CHECK(sent() == std::multiset<std::string>{by.range(7), by.range(8)});
}

TEST_CASE("http_store: a chunk is opened by its end, and a zip file by its begin and its end") {
  for (const bool knows_end : {true, false}) {
    CAPTURE(knows_end);
    served at;
    at.state().knows_end = knows_end;
    const std::string bytes = fake_web::some_bytes(1000, 3);
    at.state().objects["/top/w/c/0"] = {bytes};
    at.state().objects["/top/x.zip"] = {bytes};
    at.state().objects["/top/w/c/1"] = {""};
    at.state().objects["/top/w/c/2"] = {bytes.substr(0, 40)};
    auto& sent = at.state().requests;
    const auto chunk = at.open("w/c/0");
    CHECK(fake_web::header_of(sent.front(), "Range") == "bytes=-100");
    CHECK(sent.size() == (knows_end ? 1 : 2));
    CHECK(chunk->size() == 1000);
    const auto requests = [&](const blob& of, std::uint64_t offset, std::size_t size) {
      sent.clear();
      CHECK(read(of, offset, size).value() == bytes.substr(offset, size));
      return sent.size();
    };
    CHECK(requests(*chunk, knows_end ? 900 : 0, 100) == 0);
    CHECK(requests(*chunk, knows_end ? 950 : 20, 10) == 0);
    CHECK(requests(*chunk, 100, 850) == 1);
    CHECK(fake_web::header_of(sent.back(), "Range") ==
          (knows_end ? "bytes=100-899" : "bytes=100-949"));
    CHECK(requests(*chunk, 0, 1000) == 1);
    CHECK(requests(*chunk, 300, 100) == 1);
    CHECK(at.open("w/c/1")->size() == 0);
    sent.clear();
    CHECK(read(*at.open("w/c/2"), 0, 40).value() == bytes.substr(0, 40));
    CHECK(sent.size() == (knows_end ? 1 : 2));
    sent.clear();
    const auto archive = at.open("x.zip");
    CHECK(sent.size() == 2);
    CHECK(requests(*archive, 0, 100) == 0);
    CHECK(requests(*archive, 600, 400) == (knows_end ? 0 : 1));
    CHECK(requests(*archive, 0, 1000) == 1);
    CHECK(at.store().open(store_key::parse("none.zip").value()).value() == nullptr);
  }
  // A server that was seen not to know ends is not asked for them again.
  {
    served at;
    at.state().knows_end = false;
    auto& sent = at.state().requests;
    for (const char* name : {"/top/w/c/0", "/top/w/c/1"})
      at.state().objects[name] = {fake_web::some_bytes(1000, 3)};
    const auto store = at.store();
    const auto open = [&](const http_store& of, const char* key) {
      sent.clear();
      CHECK(read(*of.open(store_key::parse(key).value()).value(), 0, 1000).value() ==
            fake_web::some_bytes(1000, 3));
      return fake_web::header_of(sent.front(), "Range");
    };
    CHECK(open(store, "w/c/0") == "bytes=-100");
    CHECK(sent.size() == 3);
    CHECK(open(store, "w/c/1") == "bytes=0-99");
    CHECK(sent.size() == 2);
    CHECK(open(at.store(), "w/c/1") == "bytes=-100");  // it was that store
  }
  // One that has an empty chunk knows ends nevertheless.
  {
    served at;
    at.state().objects["/top/c/0"] = {""};
    at.state().objects["/top/c/1"] = {fake_web::some_bytes(1000, 3)};
    const auto store = at.store();
    CHECK(store.open(store_key::parse("c/0").value()).value()->size() == 0);
    CHECK(store.open(store_key::parse("c/1").value()).value()->size() == 1000);
    CHECK(fake_web::header_of(at.state().requests.back(), "Range") == "bytes=-100");
  }
  // An end may have fewer bytes than it says, or be that of another object.
  served at;
  const std::string bytes = fake_web::some_bytes(1000, 3);
  at.state().objects["/top/c0"] = at.state().objects["/top/x.zip"] = {bytes};
  at.state().faults = {{fault::cut_quietly, 30}};
  CHECK(read(*at.open("c0"), 890, 110).value() == bytes.substr(890));
  for (const fault::kind what : {fault::wrong_range, fault::more}) {
    at.state().faults = {{what}};
    CHECK(read(*at.open("c0"), 800, 200).value() == bytes.substr(800));
  }
  at.state().faults = {{fault::none}, {fault::change}};
  const auto changed = at.store().open(store_key::parse("x.zip").value()).value();
  const auto got = read(*changed, 0, 1000);
  CHECK((got ? *got == at.state().objects["/top/x.zip"].bytes
             : got.failure().code == errc::replaced));
}

/// ZARRPOINT_TEST_SCHEDULES=10000 for more.
unsigned schedules() {
  const char* text = std::getenv("ZARRPOINT_TEST_SCHEDULES");
  return text == nullptr ? 500 : static_cast<unsigned>(std::atoi(text));
}

TEST_CASE("http_store: whatever fails, the bytes are right or the error has a name, in time") {
  unsigned well = 0, badly = 0;
  for (unsigned seed = 0; seed < schedules(); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    served at;
    at.how.retry.deadline = std::chrono::seconds(60);
    at.how.retry.budget = 20;
    at.how.first_bytes = 1 + below(1200);
    at.how.joined_gap = below(100);
    at.how.kept_blocks = below(3);
    at.state().sends_etag = below(4) != 0;
    const std::string bytes = at.state().objects["/top/a"].bytes;
    at.state().objects["/top/c/0"] = at.state().objects["/top/x.zip"] = {bytes};
    const char* const name = std::array{"a", "c/0", "x.zip"}[below(3)];
    const bool may_lie = below(3) == 0;
    constexpr fault::kind honest[] = {fault::none, fault::none,        fault::status, fault::refuse,
                                      fault::cut,  fault::cut_quietly, fault::slow};
    constexpr fault::kind lies[] = {fault::ignore_range, fault::wrong_range, fault::more,
                                    fault::encoded};
    constexpr unsigned statuses[] = {408, 429, 500, 502, 503, 504, 403, 404};
    for (unsigned i = 0; i < 30; ++i) {
      fault one{honest[below(7)]};
      if (may_lie && below(8) == 0) one.what = lies[below(4)];
      if (one.what == fault::status) {
        one.number = statuses[below(may_lie ? 8 : 6)];
        if (below(4) == 0) one.retry_after = std::to_string(below(30));
      }
      if (one.what == fault::cut || one.what == fault::cut_quietly) one.number = below(1000);
      if (one.what == fault::slow) one.number = below(20'000);
      at.state().faults.push_back(one);
    }
    const auto work = [&]() -> result<void> {
      ZARRPOINT_TRY(opened, at.store().open(store_key::parse(name).value()));
      if (opened == nullptr) return error{errc::not_found, "none: status 404"};
      for (unsigned i = 0; i < 4; ++i) {
        const std::uint64_t offset = below(1000);
        const std::size_t size = below(static_cast<unsigned>(1000 - offset));
        const auto before = at.state().clock->now();
        const auto got = read(*opened, offset, size);
        // A read is one request, or two where a redirect might be old.
        CHECK(at.state().clock->now() - before <= std::chrono::seconds(3 * 60));
        if (!got) return got.failure();
        CHECK(*got == bytes.substr(static_cast<std::size_t>(offset), size));
      }
      return {};
    };
    const auto done = work();
    (done ? well : badly) += 1;
    if (done) continue;
    CHECK(done.failure().message.size() > 10);
    INFO(done.failure().message);
    CHECK((done.failure().code == errc::unavailable || may_lie));
  }
  CHECK(well > schedules() / 10);
  CHECK(badly > schedules() / 10);
}

}  // namespace http_store_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

#include <zarrpoint/s3.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "support/fake_s3.hpp"
#include "support/store_conformance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace s3_store_tests {

using namespace test;

namespace {

std::size_t count_of(const fake_s3& of, std::string_view what) {
  return static_cast<std::size_t>(
      std::count_if(of->log.begin(), of->log.end(),
                    [&](const std::string& one) { return one.starts_with(what); }));
}

}  // namespace

TEST_CASE("s3: a store reads, writes, lists and erases as every store does") {
  const auto make = [] { return zp::any_store(open_fake_s3(fake_s3())); };
  store_reads(make);
  store_writes(make);
  store_lists(make);
  store_erases_all(make);
}

TEST_CASE("s3: keys with odd names are what they are") {
  const fake_s3 of;
  const auto store = open_fake_s3(of, "a place/with + and %");
  for (const char* name :
       {"a b", "a+b", "100%", "%41", "\xd0\xb1/\xe2\x82\xac", "x~!$&'()*,;=:@"}) {
    CAPTURE(name);
    store.put(key(name), std::as_bytes(std::span(std::string_view(name)))).value();
    CHECK(of->objects.contains("a place/with + and %/" + std::string(name)));
    CHECK(zp::as_text(read_object(store, name)) == name);
  }
  CHECK(store.list(zp::store_key::root()).value().size() == 6);
  CHECK(store.describe(key("a b")) == "s3://bucket/a place/with + and %/a b");
}

TEST_CASE("s3: what is not the URL of a place is refused") {
  for (const char* url :
       {"s3://", "s3:///key", "s3://b/key", "s3://bucket/a//b", "s3://bucket/../x",
        "http://bucket/key", "s3://bucket name/k", "s3://bucket@host/k"}) {
    CAPTURE(url);
    const auto opened = zp::s3_store::open(url, fake_s3());
    REQUIRE_FALSE(opened);
    CHECK(opened.failure().code == zp::errc::invalid_argument);
  }
  CHECK_FALSE(zp::s3_store::open("s3://bucket/k", fake_s3(), {.endpoint = "ftp://x"}));
}

TEST_CASE("s3: a large object goes in parts, several at once, with one checksum") {
  for (const bool checksums : {true, false}) {
    CAPTURE(checksums);
    const fake_s3 of;
    of->rules.checksums = checksums;
    auto how = fake_s3_options(of);
    how.part_bytes = std::size_t{5} << 20;
    const auto store = zp::s3_store::open("s3://bucket/x", of, how).value();
    const auto data = random_bytes((std::size_t{17} << 20) + 5);
    auto writer = store.create(key("big")).value();
    const std::size_t step = std::size_t{3} << 20;
    for (std::size_t at = 0; at < data.size(); at += step)
      writer->write_once(at, 0, zp::bytes_view(data).subspan(at, std::min(step, data.size() - at)))
          .value();
    CHECK_FALSE(of->objects.contains("x/big"));
    writer->finish().value();
    CHECK(of->objects["x/big"].bytes == zp::as_text(data));
    CHECK(of->uploads.empty());
    CHECK(count_of(of, "PUT x/big?partNumber=") == 4);
    // What a server refuses is noticed once.
    store.put(key("small"), std::as_bytes(std::span(std::string_view("s")))).value();
    store.put(key("small"), std::as_bytes(std::span(std::string_view("s")))).value();
    CHECK(count_of(of, "POST x/big?uploads=") == (checksums ? 1 : 2));
    CHECK(count_of(of, "PUT x/small") == 2);
    store.put(key("put"), data).value();
    CHECK(of->objects["x/put"].bytes == zp::as_text(data));
  }
}

TEST_CASE("s3: parts hold what is copied, kept and left out, written in any order") {
  const auto data = random_bytes((std::size_t{11} << 20) + 77);
  for (unsigned seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const fake_s3 of;
    auto how = fake_s3_options(of);
    how.part_bytes = std::size_t{5} << 20;
    const auto store = zp::s3_store::open("s3://bucket/x", of, how).value();
    auto writer = store.create(key("big")).value();
    if (seed % 2 == 0) writer->reserve(data.size()).value();
    struct range {
      std::size_t at, size, gap;
    };
    std::vector<range> ranges;
    std::string wanted(data.size(), '\0');
    for (std::size_t at = 0; at < data.size();) {
      std::size_t size = 1 + random() % (std::size_t{1} << (4 + random() % 18));
      const std::size_t gap = random() % 2 == 0 ? 0 : 1 + random() % 9000;
      if (at + gap + size + 9000 > data.size()) size = data.size() - at - gap;
      ranges.push_back({at + gap, size, gap});
      std::memcpy(wanted.data() + at + gap, data.data() + at + gap, size);
      at += gap + size;
    }
    if (seed % 3 == 0) std::reverse(ranges.begin(), ranges.end());
    if (seed % 3 == 1) std::shuffle(ranges.begin(), ranges.end(), random);
    for (const auto& [at, size, gap] : ranges) {
      const auto bytes = zp::bytes_view(data).subspan(at, size);
      switch (random() % 3) {
        case 0: writer->write_kept(at, gap, bytes).value(); break;
        case 1: writer->write_once(at, gap, bytes).value(); break;
        default: writer->write(at, bytes).value();  // its part is sent in the end
      }
    }
    writer->finish().value();
    CHECK(of->objects["x/big"].bytes == wanted);
  }
}

TEST_CASE("s3: many writes from behind take no more memory than a part") {
  const fake_s3 of;
  const auto store = zp::s3_store::open("s3://bucket/x", of, fake_s3_options(of)).value();
  const auto data = random_bytes(std::size_t{1} << 20);
  auto writer = store.create(key("big")).value();
  writer->reserve(data.size()).value();
  for (std::size_t at = data.size(); at >= 1024; at -= 1024)
    writer->write_once(at - 1024, 0, zp::bytes_view(data).subspan(at - 1024, 1024)).value();
  writer->finish().value();
  CHECK(of->objects["x/big"].bytes == zp::as_text(data));
}

TEST_CASE("s3: what is written once and comes again is an error, and no object") {
  const fake_s3 of;
  auto how = fake_s3_options(of);
  how.part_bytes = std::size_t{5} << 20;
  const auto store = zp::s3_store::open("s3://bucket/x", of, how).value();
  const auto data = random_bytes(std::size_t{5} << 20);
  auto writer = store.create(key("big")).value();
  writer->write_once(0, 0, data).value();
  CHECK(writer->write_once(0, 0, data).failure().code == zp::errc::invalid_argument);
  CHECK_FALSE(writer->finish());
  CHECK(of.keys().empty());
}

TEST_CASE("s3: documents that wait are seen, and none is lost where a put of them fails") {
  const fake_s3 of;
  const auto store = zp::s3_store::open("s3://bucket/x", of, fake_s3_options(of)).value();
  auto tree = store.stage(zp::store_key::root(), {.overwrite = true}).value();
  const zp::any_store to = tree->store();
  const std::string large(std::size_t{700} << 10, 'l');
  const auto bytes = std::as_bytes(std::span(large));
  const auto text_of = [&](const char* name) {
    const auto found = zp::get(to, key(name), std::size_t{1} << 20).value();
    return found ? std::string(zp::as_text(*found)) : std::string();
  };
  to.put(key("a/zarr.json"), bytes).value();
  CHECK(text_of("a/zarr.json") == large);
  CHECK(count_of(of, "PUT x/a/") == 0);
  of->instead = [&](const std::string& what) {
    return what == "PUT x/b/zarr.json" ? zp::http_response{.status = 403} : zp::http_response{};
  };
  CHECK_FALSE(to.put(key("b/zarr.json"), bytes));  // two are many
  CHECK(count_of(of, "PUT x/a/") == 1);
  CHECK(text_of("b/zarr.json") == large);
  of->instead = {};
  to.put(key("c/zarr.json"), bytes).value();
  to.put(key("c/zarr.json"), std::as_bytes(std::span(std::string_view("new")))).value();
  CHECK(text_of("c/zarr.json") == "new");
  CHECK(to.erase(key("a/zarr.json")).value());
  CHECK(text_of("a/zarr.json").empty());
  to.put(key("zarr.json"), std::as_bytes(std::span(std::string_view("root")))).value();
  tree->commit().value();
  CHECK(of->objects["x/c/zarr.json"].bytes == "new");
  CHECK(of->objects["x/b/zarr.json"].bytes == large);
  CHECK_FALSE(of->objects.contains("x/a/zarr.json"));
}

TEST_CASE("s3: all writers of a store send no more parts at once than parallel says") {
  const fake_s3 of;
  auto how = fake_s3_options(of);
  how.endpoint = "https://fake";  // bodies are not hashed
  how.part_bytes = std::size_t{5} << 20;
  how.parallel = 1;
  const auto store = zp::s3_store::open("s3://bucket/x", of, how).value();
  std::atomic<int> now = 0, most = 0;
  of->before = [&](const std::string& what) {
    if (what.find("partNumber=") == std::string::npos) return;
    int before = most;
    const int here = ++now;
    while (before < here && !most.compare_exchange_weak(before, here)) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    --now;
  };
  const auto data = random_bytes(std::size_t{10} << 20);
  const zp::thread_pool pool(3);
  // Of the last object, one part is written to by its end alone.
  zp::parallel_for(pool.executor(), 3, [&](std::size_t i) -> zp::result<void> {
    auto writer = store.create(key("big" + std::to_string(i))).value();
    const auto bytes = zp::bytes_view(data).first(i == 2 ? std::size_t{5} << 20 : data.size());
    if (auto done = writer->write_once(i == 2 ? bytes.size() : 0, 0, bytes); !done) return done;
    return writer->finish();
  }).value();
  CHECK(most.load() == 1);
  for (int i = 0; i < 2; ++i)
    CHECK(of->objects["x/big" + std::to_string(i)].bytes == zp::as_text(data));
  CHECK(of->objects["x/big2"].bytes.size() == data.size());
}

TEST_CASE("s3: parts are as small and as large as services take them, whatever part_bytes says") {
  const auto data = random_bytes((std::size_t{17} << 20) + 5);
  const auto write = [&](const fake_s3& of, std::size_t part_bytes, std::uint64_t announced) {
    auto how = fake_s3_options(of);
    how.endpoint = "https://fake";  // bodies are not hashed
    how.part_bytes = part_bytes;
    const auto store = zp::s3_store::open("s3://bucket/x", of, how).value();
    auto writer = store.create(key("big")).value();
    writer->reserve(announced).value();
    writer->write_once(0, 0, data).value();
    writer->finish().value();
    CHECK(of->objects["x/big"].bytes == zp::as_text(data));
    CHECK(of->uploads.empty());
    return count_of(of, "PUT x/big?partNumber=");
  };
  constexpr std::size_t mib = std::size_t{1} << 20;
  CHECK(write(fake_s3(), 1, 0) == 4);
  CHECK(write(fake_s3(), 0, 0) == 4);
  CHECK(write(fake_s3(), SIZE_MAX, 0) == 0);  // by one put
  // What is announced has no more than 10,000 parts, and none of more than 5 GiB.
  CHECK(write(fake_s3(), 1, 9000 * (9 * mib - 1)) == 2);
  CHECK(write(fake_s3(), 1, UINT64_MAX) == 0);
  // What is not announced may have too many: that is said, and leaves nothing.
  const fake_s3 of;
  auto how = fake_s3_options(of);
  how.part_bytes = 1;
  const auto store = zp::s3_store::open("s3://bucket/x", of, how).value();
  auto writer = store.create(key("far")).value();
  writer->write_once(10'000 * 5 * mib, 0, zp::bytes_view(data).first(1)).value();
  const auto done = writer->finish();
  REQUIRE_FALSE(done);
  CHECK(done.failure().code == zp::errc::out_of_range);
  CHECK(done.failure().message.find("part_bytes") != std::string::npos);
  CHECK(of->objects.empty());
  CHECK(of->uploads.empty());
  CHECK(store.put(key("small"), zp::bytes_view(data).first(100)));
  CHECK(count_of(of, "PUT x/small") == 1);
}

TEST_CASE("s3: a copy that the server makes is of the object that was opened") {
  const fake_s3 of;
  const auto store = open_fake_s3(of, "x");
  const auto put = [&](const char* name, std::string_view text) {
    store.put(key(name), std::as_bytes(std::span(text))).value();
  };
  put("a", "one");
  const auto opened = store.open(key("a")).value();
  CHECK(store.share(key("b"), *opened));
  CHECK(of->objects["x/b"].bytes == "one");
  put("a", "two");
  CHECK_FALSE(store.share(key("c"), *opened));
  CHECK_FALSE(of->objects.contains("x/c"));
  // It is replaced when it has been looked at, right before the copy.
  const auto again = store.open(key("a")).value();
  of->before = [&](const std::string& what) {
    if (what == "PUT x/d") of->objects["x/a"] = {"three", "\"3\"", 0};
  };
  CHECK_FALSE(store.share(key("d"), *again));
  of->before = {};
  CHECK_FALSE(of->objects.contains("x/d"));
  of->objects.erase("x/a");
  CHECK_FALSE(store.share(key("e"), *again));
}

/// Sees which keys sign the requests of which bucket.
struct signer_watch {
  fake_s3 first{}, second{};
  std::shared_ptr<std::atomic<int>> right = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<std::atomic<int>> wrong = std::make_shared<std::atomic<int>>(0);

  zp::result<zp::http_response> send(const zp::http_request& request) const {
    const bool is_first = request.url.starts_with("http://first");
    const std::string* const by = zp::find_header(request.headers, "authorization");
    const std::string* const token = zp::find_header(request.headers, "x-amz-security-token");
    const bool is_right =
        by != nullptr &&
        by->find(is_first ? "Credential=FIRST/" : "Credential=SECOND/") != std::string::npos &&
        (token == nullptr) == is_first;
    ++*(is_right ? right : wrong);
    zp::http_request asked = request;
    asked.url = "http://fake" + request.url.substr(request.url.find('/', 7));
    return (is_first ? first : second).send(asked);
  }
};

TEST_CASE("s3: stores of one process have credentials of their own") {
  const signer_watch watch;
  std::atomic<int> renewals = 0;
  const auto open = [&](bool is_first) {
    auto how = fake_s3_options(is_first ? watch.first : watch.second);
    how.endpoint = is_first ? "http://first" : "http://second";
    how.login = is_first ? zp::aws_login::given({.access_key = "FIRST", .secret_key = "1"})
                         : zp::aws_login::from([&](const zp::any_transport&) {
                             ++renewals;
                             return zp::result<zp::aws_credentials>(
                                 {.access_key = "SECOND", .secret_key = "2", .session_token = "T"});
                           });
    return zp::s3_store::open("s3://bucket/x", watch, how).value();
  };
  const zp::s3_store stores[] = {open(true), open(false)};
  const zp::thread_pool pool(4);
  zp::parallel_for(pool.executor(), 80, [&](std::size_t i) -> zp::result<void> {
    const std::string text = std::to_string(i);
    const zp::s3_store& store = stores[i % 2];
    if (auto done = store.put(key(text), std::as_bytes(std::span(text))); !done) return done;
    CHECK(zp::as_text(read_object(store, text)) == text);
    return {};
  }).value();
  CHECK(watch.wrong->load() == 0);
  CHECK(watch.right->load() >= 160);
  CHECK(renewals.load() == 1);
  CHECK(watch.first.keys().size() == 40);
  CHECK(watch.second.keys().size() == 40);
}

TEST_CASE("s3: parts of an object that fails leave nothing behind") {
  const fake_s3 of;
  auto how = fake_s3_options(of);
  how.part_bytes = std::size_t{5} << 20;
  const auto store = zp::s3_store::open("s3://bucket/x", of, how).value();
  const auto data = random_bytes(std::size_t{11} << 20);
  {
    auto writer = store.create(key("big")).value();
    writer->write_once(0, 0, data).value();
  }
  CHECK(of->uploads.empty());
  of->instead = [](const std::string& what) -> zp::http_response {
    if (what.find("partNumber=2") == std::string::npos) return {};
    return {.status = 403, .headers = {}, .text = "<Error><Code>AccessDenied</Code></Error>"};
  };
  auto writer = store.create(key("big")).value();
  static_cast<void>(writer->write_once(0, 0, data));
  const auto done = writer->finish();
  REQUIRE_FALSE(done);
  CHECK(done.failure().message.find("AccessDenied") != std::string::npos);
  CHECK(of->uploads.empty());
  CHECK(of->objects.empty());
}

TEST_CASE("s3: an upload that is gone was completed only if its object is there") {
  for (const bool is_done : {true, false}) {
    CAPTURE(is_done);
    const fake_s3 of;
    auto how = fake_s3_options(of);
    how.part_bytes = std::size_t{5} << 20;
    const auto store = zp::s3_store::open("s3://bucket/x", of, how).value();
    auto data = random_bytes(std::size_t{6} << 20);
    store.put(key("big"), data).value();
    const std::string old = of->objects["x/big"].bytes;
    for (auto& one : data) one ^= std::byte{1};
    bool is_first = true;
    const auto is_end = [](const std::string& what) {
      return what.starts_with("POST x/big?uploadId");
    };
    if (is_done) {
      of->is_lost = [&](const std::string& what) {
        return is_end(what) && std::exchange(is_first, false);
      };
    } else {
      // A rule of the bucket has removed it. The old object is of the same size.
      of->before = [&](const std::string& what) {
        if (is_end(what)) of->uploads.clear();
      };
    }
    CHECK(static_cast<bool>(store.put(key("big"), data)) == is_done);
    CHECK(of->objects["x/big"].bytes == (is_done ? std::string(zp::as_text(data)) : old));
  }
}

TEST_CASE("s3: an error under the status 200 is an error") {
  const fake_s3 of;
  auto how = fake_s3_options(of);
  how.part_bytes = std::size_t{5} << 20;
  const auto store = zp::s3_store::open("s3://bucket/x", of, how).value();
  of->instead = [](const std::string& what) -> zp::http_response {
    if (!what.starts_with("POST x/big?uploadId")) return {};
    return {.status = 200, .headers = {}, .text = "<Error><Code>InternalError</Code></Error>"};
  };
  const auto done = store.put(key("big"), random_bytes(std::size_t{6} << 20));
  REQUIRE_FALSE(done);
  CHECK(done.failure().message.find("InternalError") != std::string::npos);
  CHECK(of->uploads.empty());
  // One that passes is not told.
  int failures = 2;
  of->instead = [&](const std::string& what) -> zp::http_response {
    if (!what.starts_with("POST x/big?uploadId") || failures-- <= 0) return {};
    return {.status = 200, .headers = {}, .text = "<Error><Code>SlowDown</Code></Error>"};
  };
  store.put(key("big"), random_bytes(std::size_t{6} << 20)).value();
  CHECK(of->objects.contains("x/big"));
}

TEST_CASE("s3: a bucket of another region is asked there") {
  const fake_s3 of;
  of->rules.region = "eu-west-1";
  const auto store = open_fake_s3(of);
  store.put(key("k"), std::as_bytes(std::span(std::string_view("s")))).value();
  CHECK(zp::as_text(read_object(store, "k")) == "s");
}

TEST_CASE("s3: errors have the service's words and no keys") {
  const fake_s3 of;
  auto how = fake_s3_options(of);
  how.login = zp::aws_login::given(
      {.access_key = "AKIASEEN", .secret_key = "SECRETSEEN", .session_token = "TOKENSEEN"});
  const auto store = zp::s3_store::open("s3://bucket/x", of, how).value();
  of->instead = [](const std::string&) -> zp::http_response {
    return {.status = 403,
            .headers = {{"x-amz-request-id", "REQ7"}},
            .text = "<Error><Code>SignatureDoesNotMatch</Code><Message>m</Message></Error>"};
  };
  const auto done = store.put(key("k"), {});
  REQUIRE_FALSE(done);
  const std::string& text = done.failure().message;
  CHECK(text.find("s3://bucket/x/") != std::string::npos);
  CHECK(text.find("SignatureDoesNotMatch") != std::string::npos);
  CHECK(text.find("REQ7") != std::string::npos);
  CHECK(text.find("SEEN") == std::string::npos);
}

TEST_CASE("s3: pages of a list are joined") {
  const fake_s3 of;
  of->rules.page = 3;
  const auto store = open_fake_s3(of);
  for (int i = 0; i < 10; ++i) {
    store.put(key("a/" + std::to_string(i)), {}).value();
    store.put(key("b" + std::to_string(i) + "/x"), {}).value();
  }
  CHECK(store.list(key("a")).value().size() == 10);
  CHECK(store.list(zp::store_key::root()).value().size() == 11);
  CHECK(store.erase_all(zp::store_key::root()).value());
  CHECK(of.keys().empty());
}

TEST_CASE("s3: a presigned URL is one that the store signs") {
  const fake_s3 of;
  const auto store = open_fake_s3(of);
  const auto text = store.presign(key("a b"), std::chrono::seconds(60)).value();
  CHECK(text.starts_with("http://fake/bucket/model.zarr/a%20b?X-Amz-Algorithm=AWS4-HMAC-SHA256&"));
  CHECK_FALSE(store.presign(key("a"), std::chrono::seconds(604801)));
}

TEST_CASE("s3: anonymous requests are not signed") {
  const fake_s3 of;
  auto how = fake_s3_options(of);
  how.login = zp::aws_login::anonymous();
  how.requester_pays = true;
  const auto store = zp::s3_store::open("s3://bucket/x", of, how).value();
  store.put(key("k"), {}).value();
  CHECK(of->signatures == 0);
  CHECK(of->log.size() == 2);
  open_fake_s3(of).put(key("k"), {}).value();
  CHECK(of->signatures == 2);
  CHECK_FALSE(store.presign(key("k"), std::chrono::seconds(1)));
}

}  // namespace s3_store_tests

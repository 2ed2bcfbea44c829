// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// How many round trips in sequence it takes to open a checkpoint behind a network and to read one
// element of it: requests that could go at once must.

#include <zarrpoint/formats.hpp>
#include <zarrpoint/gcs.hpp>
#include <zarrpoint/remote.hpp>
#include <zarrpoint/s3.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "support/fake_s3.hpp"
#include "support/fake_web.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace round_trips_test {

namespace {

/// Sends the requests of a round when all of them have come. So those that wait for each other
/// never do, and it does not matter how fast this machine is.
class rounds {
 public:
  rounds(zp::any_transport by, std::vector<unsigned> sizes)
      : by_(std::move(by)), state_(std::make_shared<state>(std::move(sizes))) {}

  zp::result<zp::http_response> send(const zp::http_request& request) const {
    state& s = *state_;
    std::unique_lock lock(s.mutex);
    s.seen += (s.came == 0 ? " | " : " ") + request.url;
    const std::size_t mine = s.now;
    if (s.is_broken || mine == s.sizes.size()) {
      s.is_broken = true;
    } else if (++s.came == s.sizes[mine]) {
      s.came = 0;
      ++s.now;
      s.changed.notify_all();
    } else if (!s.changed.wait_for(lock, std::chrono::seconds(10),
                                   [&] { return s.now != mine || s.is_broken; })) {
      s.is_broken = true;
      s.changed.notify_all();
    }
    lock.unlock();
    return by_.send(request);
  }

  /// Whether there were as many requests in each round, and no others.
  bool done() const { return !state_->is_broken && state_->now == state_->sizes.size(); }
  const std::string& seen() const { return state_->seen; }

 private:
  struct state {
    explicit state(std::vector<unsigned> of) : sizes(std::move(of)) {}
    std::mutex mutex{};
    std::condition_variable changed{};
    std::vector<unsigned> sizes;
    std::size_t now = 0;
    unsigned came = 0;
    bool is_broken = false;
    std::string seen{};
  };

  zp::any_transport by_;
  std::shared_ptr<state> state_;
};

/// What all schemes of a test go by.
struct access {
  static inline std::unique_ptr<rounds> by{};
  static inline test::fake_s3 bucket{};
  static zp::any_transport transport() { return *by; }
  static zp::s3_options s3() { return test::fake_s3_options(bucket); }
  static zp::gcs_options gcs() { return test::fake_gcs_options(bucket); }
};
using web = zp::http_scheme_by<access>;
using s3 = zp::s3_scheme_by<access>;
using gs = zp::gs_scheme_by<access>;

/// Calls `put(name, bytes)` for each file of a directory, or for a file.
template <class Put>
void each_file(const std::filesystem::path& from, const std::string& at, Put put) {
  if (std::filesystem::is_regular_file(from)) return put(at, test::read_file(from));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(from))
    if (entry.is_regular_file())
      put(at + '/' + entry.path().lexically_relative(from).generic_string(),
          test::read_file(entry.path()));
}

void to_web(const fake_web::server& server, const std::filesystem::path& from,
            const std::string& at) {
  each_file(from, at, [&](const std::string& key, std::string bytes) {
    server.state->objects[key] = {std::move(bytes)};
  });
}

void to_bucket(const std::filesystem::path& from, const std::string& at) {
  each_file(from, at, [&](const std::string& key, std::string bytes) {
    const std::string etag = '"' + std::to_string(bytes.size()) + '"';
    access::bucket->objects[key] = {std::move(bytes), etag, access::bucket->now};
  });
}

/// Tensors whose shards are not small, with an index at their end.
struct model {
  std::vector<float> w = std::vector<float>(1'500'000);
  model() {
    std::mt19937 random(1);
    for (float& one : w) one = static_cast<float>(random());
  }
  void save(const std::string& path) const {
    const zp::thread_pool one(1);  // so that members of a zip file lie in their order
    zp::save(path, {{"before", w}, {"layers/0/w", w}, {"z", w}}, {}, {.executor = one.executor()})
        .value();
  }
};

/// One element of the middle of it, from the opening on, in rounds of so many requests.
void load_one(const zp::any_transport& by, const std::string& url,
              const std::pair<zp::store_table, std::vector<unsigned>>& how) {
  static const model of;
  access::by = std::make_unique<rounds>(by, how.second);
  CAPTURE(url);
  const auto opened = zp::open(url, {.stores = how.first});
  INFO((opened ? "" : opened.failure().message));
  REQUIRE(opened.has_value());
  const auto array = opened->as_array("layers/0/w");
  REQUIRE(array.has_value());
  const auto got = array->read(zp::box({100'000}, {1}));
  INFO(access::by->seen());
  REQUIRE(got.has_value());
  CHECK(got->data<float>()[0] == of.w[100'000]);
  CHECK(access::by->done());
}

}  // namespace

TEST_CASE("round trips: the first element by HTTP takes three") {
  const test::temp_directory made;
  const model of;
  of.save(made / "ck");
  of.save(made / "x.zip");
  const fake_web::server server;
  to_web(server, made / "ck", "/ck");
  to_web(server, made / "x.zip", "/x.zip");
  const auto own = zp::formats<web>();
  const auto all = zp::all_formats<web>();
  // The document, and what a bucket has beside it; a shard's end; an inner chunk.
  load_one(server, "http://h/ck/", {own, {2, 1, 1}});
  load_one(server, "http://h/ck/", {all, {2, 1, 1}});
  load_one(server, "http://h/ck", {own, {2, 1, 1}});
  load_one(server, "http://h/ck", {all, {3, 1, 1}});  // a file of that name, too
  // Begin and end of the file; a member's header and its end; an inner chunk.
  load_one(server, "http://h/x.zip", {own, {2, 2, 1}});
  load_one(server, "http://h/x.zip", {all, {2, 2, 1}});
}

TEST_CASE_TEMPLATE("round trips: the first element from a bucket takes three", kind,
                   test::made_of<test::bucket_kind::s3>, test::made_of<test::bucket_kind::gcs>,
                   test::made_of<test::bucket_kind::gcs_xml>) {
  const kind of_kind;
  access::bucket = test::fake_s3();
  const bool is_s3 = access::bucket->rules.kind == test::bucket_kind::s3;
  const test::temp_directory made;
  const model of;
  of.save(made / "ck");
  of.save(made / "x.zip");
  to_bucket(made / "ck", "run/ck");
  to_bucket(made / "x.zip", "run/x.zip");
  const std::string begin = is_s3 ? "s3://bucket/run/" : "gs://bucket/run/";
  const auto own = zp::formats<s3, gs>();
  const auto all = zp::all_formats<s3, gs>();
  load_one(access::bucket, begin + "ck", {own, {2, 1, 1}});
  load_one(access::bucket, begin + "ck", {all, {3, 1, 1}});
  load_one(access::bucket, begin + "x.zip", {own, {4, 2, 1}});
  load_one(access::bucket, begin + "x.zip", {all, {4, 2, 1}});
  // Of a checkpoint that replaced another one, the document is asked for when its tree is known.
  const std::string tree = ".zarrpoint/20261128T130000Z-0123456789abcdef/";
  to_bucket(made / "ck", "run/new/" + tree.substr(0, tree.size() - 1));
  access::bucket->objects["run/new/.zarrpoint/current"] = {
      "zarrpoint 1\ntree " + tree + "\nsave 1\n", "\"c\"", 0};
  load_one(access::bucket, begin + "new", {own, {2, 1, 1, 1}});
}

TEST_CASE("round trips: thousands of tensors are opened by two") {
  const test::temp_directory made;
  const std::vector<float> values(30, 1.5F);
  std::vector<zp::leaf> leaves;
  for (int i = 0; i < 3000; ++i)
    leaves.emplace_back("layer" + std::to_string(i / 50) + "/w" + std::to_string(i % 50), values);
  zp::save(made / "ck", leaves).value();
  zp::save(made / "x.zip", leaves).value();
  const fake_web::server server;
  access::bucket = test::fake_s3();
  to_web(server, made / "ck", "/ck");
  to_web(server, made / "x.zip", "/x.zip");
  to_bucket(made / "ck", "run/ck");
  to_bucket(made / "x.zip", "run/x.zip");
  const auto open = [](const zp::any_transport& by, const std::string& url, unsigned first) {
    CAPTURE(url);
    access::by = std::make_unique<rounds>(by, std::vector<unsigned>{first, 1});
    const auto opened = zp::open(url, {.stores = zp::formats<web, s3>()});
    INFO(access::by->seen());
    REQUIRE(opened.has_value());
    CHECK(opened->names().size() == 3000);
    CHECK(access::by->done());
  };
  open(server, "http://h/ck/", 2);
  open(server, "http://h/x.zip", 2);
  open(access::bucket, "s3://bucket/run/ck", 2);
  open(access::bucket, "s3://bucket/run/x.zip", 4);
}

TEST_CASE_TEMPLATE("round trips: a first save to a bucket takes seven", kind,
                   test::made_of<test::bucket_kind::s3>, test::made_of<test::bucket_kind::gcs>,
                   test::made_of<test::bucket_kind::gcs_xml>) {
  const kind of_kind;
  access::bucket = test::fake_s3();
  const bool is_s3 = access::bucket->rules.kind == test::bucket_kind::s3;
  // What lies there; the claim, and whether the server keeps conditions; a small chunk; the list of
  // the keys in place of the claim; a document; the root's; the commit, and what is old.
  access::by = std::make_unique<rounds>(access::bucket, std::vector<unsigned>{3, 3, 1, 1, 1, 1, 2});
  const std::vector<float> w(100, 1.5F);
  const auto saved = zp::save(std::string(is_s3 ? "s3" : "gs") + "://bucket/model", {{"w", w}}, {},
                              {.stores = zp::formats<s3, gs>()});
  INFO(access::by->seen());
  INFO((saved ? "" : saved.failure().message));
  REQUIRE(saved.has_value());
  CHECK(access::by->done());
  for (const std::string& key : access::bucket.keys()) CHECK(key.find("probe") == key.npos);
}

TEST_CASE("round trips: many tensors of a zip file are loaded by few requests, each byte once") {
  const test::temp_directory made;
  std::mt19937 random(1);
  std::vector<std::vector<std::uint32_t>> values(3000, std::vector<std::uint32_t>(700));
  std::vector<zp::leaf> leaves;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::uint32_t& one : values[i]) one = static_cast<std::uint32_t>(random());
    leaves.emplace_back("layer" + std::to_string(i / 50) + "/w" + std::to_string(i % 50),
                        values[i]);
  }
  zp::save(made / "x.zip", leaves).value();
  const fake_web::server server;
  to_web(server, made / "x.zip", "/x.zip");
  const std::size_t size = server.state->objects["/x.zip"].bytes.size();
  access::by = std::make_unique<rounds>(server, std::vector<unsigned>());
  const auto opened = zp::open("http://h/x.zip", {.stores = zp::formats<web>()}).value();
  const std::size_t before = server.state->requests.size();
  const auto loaded = zp::load_all(opened).value();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& tensor = std::get<zp::tensor>(loaded.at(std::string(leaves[i].name())));
    CHECK(std::ranges::equal(values[i], tensor.data<std::uint32_t>()));
  }
  std::size_t fetched = 0;
  for (std::size_t i = before; i < server.state->requests.size(); ++i) {
    const std::string range = fake_web::header_of(server.state->requests[i], "Range");
    const std::size_t dash = range.find('-');
    fetched += std::stoul(range.substr(dash + 1)) - std::stoul(range.substr(6, dash - 6)) + 1;
  }
  // A block of 1 MiB each, and those that came before there was one.
  CHECK(server.state->requests.size() - before < (size >> 20) + 64);
  CHECK(fetched < size / 4 * 5);
}

}  // namespace round_trips_test

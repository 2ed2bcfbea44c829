// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Loads of several processes from a bucket, each with a store of its own: with `read_once` each
// byte of a tensor comes over the network once for each group of them, as the server counts it.
// Its name stands behind save_protocol_s3_test.cpp, which forks before threads wait for servers.

#include <zarrpoint/distributed/communicate/thread_communicator.hpp>
#include <zarrpoint/distributed/load/group_load.hpp>
#include <zarrpoint/distributed/save/group_save.hpp>
#include <zarrpoint/s3.hpp>

#include "../support/fake_s3.hpp"
#include "../support/save_layouts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

namespace read_once_s3_test {

using namespace zarrpoint;
using zarrpoint_test::save_layouts::bucket_access;
using zarrpoint_test::save_layouts::by_bucket;

namespace {

/// Counts what was sent of each object.
struct counting {
  struct totals {
    std::mutex mutex{};
    std::map<std::string, std::vector<int>> times{};  ///< of each object: how often each byte
  };
  test::fake_s3 of;
  std::shared_ptr<totals> sent = std::make_shared<totals>();

  result<http_response> send(const http_request& request) const {
    auto answer = of.send(request);
    if (!answer || request.method != "GET" || (answer->status != 200 && answer->status != 206))
      return answer;
    const std::string key = request.url.substr(request.url.find("bucket/") + 7);
    const std::lock_guard lock(sent->mutex);
    std::vector<int>& times = sent->times[key];
    std::size_t first = 0;
    if (const std::string_view range = answer->header("Content-Range"); !range.empty())
      first = std::stoul(std::string(range.substr(6)));
    times.resize(std::max<std::size_t>(times.size(), first + answer->received));
    for (std::size_t i = 0; i < answer->received; ++i) ++times[first + i];
    return answer;
  }
};

constexpr index_t rows = 1200, columns = 960;

/// Saved by rows; each of `ranks` processes loads its columns, and all of `b`.
void load_columns(int ranks, const group_load_options& how) {
  const auto said = thread_world::run(ranks, [&](const thread_communicator& self) -> result<bool> {
    const index_t part = columns / ranks;
    std::vector<float> mine(static_cast<std::size_t>(rows * part));
    std::vector<float> b(5000);
    shard_metadata box{.key = "w", .type = dtype_kind::float32, .local_shape = {rows, part}};
    box.global_shape = {rows, columns};
    box.global_offset = {0, part * self.rank()};
    ZARRPOINT_TRY(w, sharded<tensor>::make(box, tensor::make(box.data_spec()).value()));
    ZARRPOINT_TRY(all, shard("b", b, {.replica = {self.rank()}}));
    ZARRPOINT_CHECK(load("s3://bucket/m", state{{"w", w}, {"b", all}},
                         {.ranks = self, .how = by_bucket()}, how));
    const auto got = w.value().data<float>();
    for (index_t row = 0; row < rows; ++row)
      for (index_t i = 0; i < part; ++i)
        if (got[static_cast<std::size_t>(row * part + i)] !=
            static_cast<float>(row * columns + part * self.rank() + i))
          return false;
    return b == std::vector<float>(5000, 3);
  });
  for (const auto& one : said) CHECK(one.value());
}

}  // namespace

TEST_CASE("read_once in S3: each byte of tensors is sent once to each group of processes") {
  for (const bool is_raw : {true, false}) {
    CAPTURE(is_raw);
    const test::fake_s3 bucket;
    const counting by{bucket};
    bucket_access::by = by;
    bucket_access::how = test::fake_s3_options(bucket);
    const auto saved = thread_world::run(4, [&](const thread_communicator& self) -> result<bool> {
      std::vector<float> mine(static_cast<std::size_t>(rows * columns / 4));
      std::iota(mine.begin(), mine.end(), static_cast<float>(self.rank() * rows * columns / 4));
      shard_metadata box{.key = "w", .type = dtype_kind::float32};
      box.local_shape = {rows / 4, columns};
      box.global_shape = {rows, columns};
      box.global_offset = {self.rank() * rows / 4, 0};
      ZARRPOINT_TRY(values, tensor::make(box.data_spec()));
      std::copy(mine.begin(), mine.end(), values.data<float>().begin());
      ZARRPOINT_TRY(w, sharded<tensor>::make(box, std::move(values)));
      std::vector<float> b(5000, 3);
      ZARRPOINT_TRY(all, shard("b", b, {.replica = {self.rank()}}));
      group_save_options how;
      if (is_raw) how.storage.rules = {{.codecs = raw_codecs()}};
      ZARRPOINT_CHECK(save("s3://bucket/m", state{{"w", w}, {"b", all}},
                           {.ranks = self, .how = by_bucket()}, how));
      return true;
    });
    for (const auto& one : saved) CHECK(one.value());
    for (const int groups : {1, 2}) {
      by.sent->times.clear();
      load_columns(4, {.read_once = true,
                       .groups = groups == 1 ? std::vector<int>{} : std::vector<int>{0, 1, 0, 1}});
      std::size_t objects = 0;
      for (const auto& [key, times] : by.sent->times) {
        if (key.find("/w/c/") == key.npos && key.find("/b/c/") == key.npos) continue;
        CAPTURE(key);
        ++objects;
        // An object is opened by one range of its end, by each process that reads some of it: it
        // has the index of inner chunks.
        constexpr std::size_t opened = 65536;
        for (std::size_t i = 0; i < times.size(); ++i) {
          if (times[i] == groups ||
              (i + opened >= times.size() && times[i] > groups && times[i] <= 4))
            continue;
          CAPTURE(i);
          REQUIRE(times[i] == groups);
        }
        if (times.size() <= opened) CHECK(times == std::vector<int>(times.size(), groups));
      }
      CHECK(objects == 5);
    }
  }
}

}  // namespace read_once_s3_test

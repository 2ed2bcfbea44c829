// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/read/stored_object.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace coalescing_blob_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

std::vector<std::byte> numbered(std::size_t size) {
  std::vector<std::byte> out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 256);
  return out;
}

TEST_CASE("neighbours are read at a time, once, and what is asked for again still comes") {
  recording_store store;
  const auto data = numbered(std::size_t{3} << 20);
  store.set("a", data);
  const std::size_t base = 100000;
  std::vector<detail::byte_range> ranges;
  for (std::size_t i = 0; i < 50; ++i) ranges.push_back({base + 1000 * i, 900});
  ranges.push_back({2000000, 10});  // far from all others
  detail::coalescing_blob blob(store.open(key_of("a")).value(), ranges, default_resource());
  CHECK(blob.runs() == 2);
  CHECK(blob.size() == data.size());
  store->reads = 0;
  std::vector<std::byte> into(1000);
  const auto check = [&](std::size_t offset, std::size_t size) {
    REQUIRE(blob.read(offset, mutable_bytes(into).first(size)));
    CHECK(std::equal(into.begin(), into.begin() + static_cast<std::ptrdiff_t>(size),
                     data.begin() + static_cast<std::ptrdiff_t>(offset)));
  };
  for (std::size_t i = ranges.size(); i-- > 0;) check(ranges[i].offset, ranges[i].size);
  CHECK(store->reads == 2);
  check(ranges[3].offset, ranges[3].size);
  check(0, 1000);
  check(2000005, 100);
  CHECK(store->reads == 5);
  CHECK(blob.read(data.size(), mutable_bytes(into).first(1)).failure().code == errc::out_of_range);
}

TEST_CASE("runs end where they would be too long; failures are those of the store") {
  recording_store store;
  store.set("a", numbered(std::size_t{3} << 20));
  std::vector<detail::byte_range> ranges;
  for (std::size_t i = 0; i < 3 * 64; ++i) ranges.push_back({i * 16384, 16384});
  detail::coalescing_blob blob(store.open(key_of("a")).value(), ranges, default_resource());
  CHECK(blob.runs() == 3);
  store->reads_until_failure = 0;
  std::vector<std::byte> into(16384);
  CHECK(blob.read(0, into).failure().code == errc::io);
  store->reads_until_failure = 100;
  CHECK(blob.read(0, into));
}

/// Its first read ends when the one at `until` has begun, or fails after 20 s.
class waiting_blob final : public blob {
 public:
  waiting_blob(std::vector<std::byte> data, std::uint64_t until)
      : data_(std::move(data)), until_(until) {}
  std::uint64_t size() const noexcept override { return data_.size(); }
  std::string name() const override { return "waiting"; }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    std::unique_lock lock(mutex_);
    reads_.push_back(offset);
    changed_.notify_all();
    const auto has_begun = [this] {
      return std::find(reads_.begin(), reads_.end(), until_) != reads_.end();
    };
    if (reads_.size() == 1 && !changed_.wait_for(lock, std::chrono::seconds(20), has_begun))
      return error{errc::io, "nobody read ahead"};
    std::copy_n(data_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
    return {};
  }
  void wait_for_first() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !reads_.empty(); });
  }
  std::vector<std::uint64_t> reads() const {
    const std::lock_guard lock(mutex_);
    return reads_;
  }

 private:
  const std::vector<std::byte> data_;
  const std::uint64_t until_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::vector<std::uint64_t> reads_;
};

TEST_CASE("who waits for neighbours reads those behind them meanwhile") {
  // Four runs of two ranges each, to memory of the blob's own or straight to their places. The one
  // that waits reads on, as far as the second run behind.
  const std::size_t size = 16384, gap = 100000;
  const auto data = numbered(8 * gap);
  for (const bool is_direct : {false, true}) {
    CAPTURE(is_direct);
    std::vector<std::byte> into(8 * size);
    std::vector<detail::byte_range> ranges;
    for (std::size_t i = 0; i < 8; ++i)
      ranges.push_back(
          {i / 2 * gap + i % 2 * size, size, is_direct ? into.data() + i * size : nullptr});
    const auto base = std::make_shared<waiting_blob>(data, (is_direct ? 2 : 1) * gap);
    const detail::coalescing_blob blob(base, ranges, default_resource());
    REQUIRE(blob.runs() == 4);
    const auto read = [&](std::size_t i) {
      return blob.read(ranges[i].offset, {into.data() + i * size, size});
    };
    auto first = std::async(std::launch::async, [&] { return read(0); });
    base->wait_for_first();
    auto waiting = std::async(std::launch::async, [&] { return read(1); });
    CHECK(first.get());
    CHECK(waiting.get());
    for (std::size_t i = 2; i < 8; ++i) CHECK(read(i));
    CHECK(base->reads().size() == 4);
    for (std::size_t i = 0; i < 8; ++i)
      CHECK(std::equal(into.begin() + static_cast<std::ptrdiff_t>(i * size),
                       into.begin() + static_cast<std::ptrdiff_t>((i + 1) * size),
                       data.begin() + static_cast<std::ptrdiff_t>(ranges[i].offset)));
  }
}

TEST_CASE("an array of many small inner chunks takes few reads") {
  recording_store store;
  auto metadata = sharded_metadata(raw_metadata(dtype_kind::int32, {64, 64}, {64, 64}), {4, 4});
  const array made = array::create(store, key_of("a"), metadata).value();
  const auto data = counting({64, 64});
  made.write(box::whole({64, 64}), view_of(data, {64, 64})).value();
  store->reads = 0;
  CHECK(elements_of(made.read(box::whole({64, 64})).value().view()) ==
        elements_of(view_of(data, {64, 64})));
  CHECK(store->reads == 2);  // the index, and all 256 inner chunks
}

TEST_CASE("a store says how large its requests are to be, and gets no more than is wanted") {
  recording_store store;
  const index_t n = 32 << 10;  // a row of 256 KiB
  auto metadata = sharded_metadata(raw_metadata(dtype_kind::float64, {64, n}, {64, n}), {1, n});
  const array made = array::create(store, key_of("a"), metadata).value();
  std::vector<double> data(static_cast<std::size_t>(64 * n));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i);
  made.write(box::whole({64, n}), view_of(data, {64, n})).value();
  const auto reads_of = [&](const box& part, const limits& within) {
    context how;
    how.limit = within;
    const array opened = array::open(store, key_of("a"), how).value();
    store->reads = store->bytes_read = 0;
    const tensor loaded = opened.read(part).value();
    const double* const first = reinterpret_cast<const double*>(loaded.view().data);
    CHECK(std::equal(first, first + loaded.size(), data.begin() + part.offset[0] * n));
    return store->reads.load();
  };
  CHECK(reads_of(box::whole({64, n}), {}) == 1 + 64);  // the index, and each inner chunk
  store->request_bytes = 8 << 20;
  CHECK(reads_of(box::whole({64, n}), {}) == 1 + 2);  // straight to their places
  CHECK(reads_of(box::whole({64, n}), {.bytes_in_flight = std::size_t{1} << 30}) == 1 + 2);
  CHECK(reads_of(box::whole({64, n}), {.bytes_in_flight = std::size_t{64} << 20}) == 1 + 64);
  CHECK(reads_of(box::whole({64, n}), {.memory = std::size_t{48} << 20}) == 1 + 64);
  CHECK(reads_of(box({3, 0}, {20, n}), {}) == 1 + 1);
  CHECK(store->bytes_read < (20 * 256 + 4) << 10);
}

}}  // namespace coalescing_blob_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/raw_object.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <span>
#include <vector>

namespace raw_object_test {

namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

struct written {
  recording_store store;
  array w;
  chunk_digests digests;
};

written write_all(const array_metadata& metadata) {
  recording_store store;
  written out{store, array::create(store, key_of("w"), metadata).value(), {}};
  const auto data = counting(metadata.shape);
  out.w
      .write(box::whole(metadata.shape), view_of(data, metadata.shape),
             write_options{.elide_fill = false, .collected = &out.digests})
      .value();
  return out;
}
written write_shards(const dims& shape, const dims& shard, const dims& inner) {
  return write_all(sharded_metadata(raw_metadata(dtype_kind::int32, shape, shard), inner));
}

/// The elements by way of the runs of all objects, and how many runs there were; nothing where one
/// has none.
std::optional<std::size_t> read_runs(const written& from, std::vector<std::int32_t>& to) {
  const read_options digests{.expected = &from.digests};
  std::size_t runs = 0;
  const dims counts = from.w.layout().grid().objects();
  dims at(counts.rank(), 0);
  for (index_t left = element_count(counts).value(); left-- > 0;) {
    const auto found = from.w.raw(at, digests).value();
    if (!found) return std::nullopt;
    for (const raw_run& run : found->runs) {
      REQUIRE(run.crc32c.size() == run.blocks);
      REQUIRE(run.bytes <= run.blocks * run.block_bytes);
      std::vector<std::byte> stored(run.blocks * run.block_bytes);
      REQUIRE(found->object->read(run.offset, stored));
      for (std::size_t i = 0; i < run.blocks; ++i) {
        const std::span block = std::span(stored).subspan(i * run.block_bytes, run.block_bytes);
        CHECK(run.check(i, crc32c(block)));
        CHECK(run.check(i, crc32c(block) + 1).failure().code == errc::corrupt);
      }
      REQUIRE(run.first + run.bytes <= to.size() * 4);
      std::memcpy(reinterpret_cast<std::byte*>(to.data()) + run.first, stored.data(), run.bytes);
    }
    runs += found->runs.size();
    for (std::size_t d = counts.rank(); d-- > 0;) {
      if (++at[d] < counts[d]) break;
      at[d] = 0;
    }
  }
  return runs;
}
std::optional<std::size_t> runs_of(const written& from) {
  const auto data = counting(from.w.spec().shape);
  std::vector<std::int32_t> found(data.size(), -1);
  const auto runs = read_runs(from, found);
  if (runs) CHECK(found == data);
  return runs;
}

}  // namespace

TEST_CASE("chunks that are rows, or runs of a row, are one run each") {
  const auto chunks = [](const dims& shape, const dims& chunk) {
    return runs_of(write_all(raw_metadata(dtype_kind::int32, shape, chunk)));
  };
  CHECK(chunks({}, {}) == 1);
  CHECK(chunks({7, 6}, {7, 6}) == 1);
  CHECK(chunks({7, 6}, {2, 6}) == 4);
  CHECK(chunks({7, 6}, {1, 4}) == 14);
  CHECK(chunks({3, 5, 2}, {1, 2, 2}) == 9);
  CHECK(chunks({1, 1}, {2, 3}) == 1);
  CHECK(chunks({7, 6}, {2, 3}) == std::nullopt);
  CHECK(chunks({7, 6}, {2, 7}) == std::nullopt);
  CHECK(chunks({0, 3}, {1, 3}) == 0);
}

TEST_CASE("inner chunks that follow each other in a shard and in the array are one run") {
  CHECK(runs_of(write_shards({16, 6}, {8, 6}, {2, 6})) == 2);
  CHECK(runs_of(write_shards({15, 6}, {8, 6}, {2, 6})) == 2);
  CHECK(runs_of(write_shards({16, 6}, {8, 6}, {1, 2})) == 2);
  CHECK(runs_of(write_shards({4, 8}, {4, 4}, {1, 2})) == 8);  // a shard has half of each row
  CHECK(runs_of(write_shards({8, 5}, {8, 6}, {1, 3})) == 8);
  CHECK(runs_of(write_shards({8, 6}, {8, 6}, {2, 3})) == std::nullopt);
}

TEST_CASE("any grid is read by its runs as by a read, or has none") {
  std::mt19937 random(5);
  const auto below = [&](index_t end) { return static_cast<index_t>(random()) % end; };
  int with_runs = 0;
  for (int turn = 0; turn < 400; ++turn) {
    dims shape, inner, shard;
    for (index_t d = 1 + below(3); d-- > 0;) {
      shape.push_back(1 + below(6));
      inner.push_back(below(2) == 0 ? shape.back() : 1 + below(4));
      shard.push_back(inner.back() * (1 + below(3)));
    }
    CAPTURE(to_string(shape));
    CAPTURE(to_string(shard));
    CAPTURE(to_string(inner));
    with_runs += runs_of(write_shards(shape, shard, inner)).has_value() ? 1 : 0;
  }
  CHECK(with_runs > 100);
  CHECK(with_runs < 400);
}

TEST_CASE("what a run says of its object") {
  const auto metadata = raw_metadata(dtype_kind::int32, {7, 4}, {8, 4});
  written from = write_all(sharded_metadata(metadata, {2, 4}, index_location::start));
  const read_options digests{.expected = &from.digests};
  const auto found = from.w.raw({0, 0}, digests).value();
  REQUIRE(found);
  CHECK(found->key == "c/0/0");
  CHECK(found->object->descriptor() == -1);
  REQUIRE(found->runs.size() == 1);
  CHECK(found->runs[0].offset == 128);  // behind the index of 68 bytes
  CHECK(found->runs[0].block_bytes == 32);
  CHECK(found->runs[0].bytes == 7 * 4 * 4);
  CHECK(found->runs[0].blocks == 4);
  const auto runs = [&](const read_options& options) {
    return from.w.raw({0, 0}, options).value()->runs;
  };
  CHECK(runs({.expected = &from.digests, .checksums = false})[0].crc32c.empty());
  CHECK(runs({})[0].crc32c.empty());

  for (const dims& nowhere : {dims{1, 0}, dims{0, -1}, dims{0}}) CHECK_FALSE(from.w.raw(nowhere));
  auto bytes = from.store.at("w/c/0/0");
  bytes.resize(40);
  from.store.set("w/c/0/0", bytes);
  CHECK(from.w.raw({0, 0}).failure().code == errc::corrupt);
  CHECK(from.w.raw({0, 0}, digests).failure().code == errc::corrupt);
  from.store->objects.erase("w/c/0/0");
  CHECK_FALSE(from.w.raw({0, 0}).value());
  CHECK(from.w.raw({0, 0}, digests).failure().code == errc::corrupt);
}

TEST_CASE("what is encoded has no runs, nor has a chunk that is not stored") {
  auto metadata = raw_metadata(dtype_kind::int32, {4, 6}, {2, 6});
  metadata.codecs = {bytes_spec("big")};
  CHECK(runs_of(write_all(metadata)) == std::nullopt);
  metadata.codecs = {bytes_spec(), zstd_spec()};
  CHECK(runs_of(write_all(metadata)) == std::nullopt);
  metadata.codecs = {transpose_spec({1, 0}), bytes_spec()};
  CHECK(runs_of(write_all(metadata)) == std::nullopt);

  recording_store store;
  const array w = array::create(store, key_of("w"),
                                sharded_metadata(raw_metadata(dtype_kind::int32, {4}, {4}), {2}))
                      .value();
  const std::vector<std::int32_t> half{1, 2};
  w.write(box{{2}, {2}}, view_of(half, {2})).value();
  CHECK_FALSE(w.raw({0}).value());
}

}  // namespace raw_object_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/read/read_operation.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"
#include "support/zip_bytes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace read_operation_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

struct stored {
  recording_store store;
  array w;
  chunk_digests digests;
  std::vector<std::int32_t> data;

  void reset_counts() const {
    store->opens = 0;
    store->reads = 0;
    store->bytes_read = 0;
  }
};

stored make(const array_metadata& metadata, const context& how = {}) {
  recording_store store;
  stored out{store, array::create(store, key_of("w"), metadata, how).value(), {}, {}};
  out.data = counting(metadata.shape);
  out.w
      .write(box::whole(metadata.shape), view_of(std::as_const(out.data), metadata.shape),
             write_options{.collected = &out.digests})
      .value();
  out.reset_counts();
  return out;
}
array_metadata shards(const dims& shape, const dims& shard, const dims& inner) {
  return sharded_metadata(raw_metadata(dtype_kind::int32, shape, shard), inner);
}
array_metadata compressed(array_metadata metadata) {
  metadata.codecs.push_back(zstd_spec());
  return metadata;
}

error refusal(const stored& from, const read_options& options) {
  const auto read = from.w.read(box::whole(from.w.spec().shape), options);
  REQUIRE_FALSE(read);
  return read.failure();
}
bool mentions(const error& failure, const std::string& text) {
  return failure.message.find(text) != std::string::npos;
}

TEST_CASE("absent chunks are the fill value, or an error") {
  stored plain = make(raw_metadata(dtype_kind::int32, {4, 4}, {2, 2}));
  plain.store->objects.erase("w/c/1/0");
  const auto read = plain.w.read(box::whole({4, 4})).value();
  CHECK(read.data<std::int32_t>()[8] == 0);
  CHECK(read.data<std::int32_t>()[10] == 11);
  const error failure = refusal(plain, {.missing = missing_chunks::error});
  CHECK(failure.code == errc::not_found);
  CHECK(mentions(failure, "memory:w: chunk c/1/0: it is not stored"));

  auto metadata = shards({4, 4}, {4, 4}, {2, 2});
  recording_store store;
  const array w = array::create(store, key_of("w"), metadata).value();
  const std::vector<std::int32_t> some = counting({4, 2});
  w.write(box{{0, 0}, {4, 2}}, view_of(some, {4, 2})).value();
  CHECK(w.read(box::whole({4, 4})).value().data<std::int32_t>()[3] == 0);
  const auto strict = w.read(box::whole({4, 4}), read_options{.missing = missing_chunks::error});
  REQUIRE_FALSE(strict);
  CHECK(mentions(strict.failure(), "chunk c/0/0: inner chunk [0, 1]: it is not stored"));
  CHECK(w.read(box{{0, 0}, {4, 2}}, read_options{.missing = missing_chunks::error}).has_value());
}

TEST_CASE("digests tell what was lost, added or changed") {
  stored from = make(shards({4, 4}, {4, 2}, {2, 2}));
  const read_options strict{.missing = missing_chunks::error, .expected = &from.digests};
  CHECK(from.w.read(box::whole({4, 4}), strict).has_value());

  const auto good = from.store.at("w/c/0/1");
  from.store->objects.erase("w/c/0/1");
  CHECK(mentions(refusal(from, strict), "chunk c/0/1: it is missing"));
  recording_store::bytes longer(4);
  longer.insert(longer.end(), good.begin(), good.end());
  from.store.set("w/c/0/1", longer);
  CHECK_FALSE(from.w.read(box::whole({4, 4}), strict));
  from.store.set("w/c/0/1", from.store.at("w/c/0/0"));  // well formed, but another's
  const error failure = refusal(from, strict);
  CHECK(failure.code == errc::corrupt);
  CHECK(mentions(
      failure, "chunk c/0/1: inner chunk [0, 0]: its 16 stored bytes do not match their checksum"));
  from.store.set("w/c/0/1", good);

  chunk_digests fewer;
  fewer.set("c/0/0", *from.digests.find("c/0/0"));
  CHECK(mentions(refusal(from, {.expected = &fewer}), "chunk c/0/1: no checksum of it is known"));
  fewer.set("c/0/1", {});
  CHECK(
      mentions(refusal(from, {.expected = &fewer}), "it exists, but it was not part of the save"));
  from.store->objects.erase("w/c/0/1");
  CHECK(from.w
            .read(box::whole({4, 4}),
                  read_options{.missing = missing_chunks::error, .expected = &fewer})
            .value()
            .data<std::int32_t>()[2] == 0);
  from.store.set("w/c/0/1", good);
  object_digest half = *from.digests.find("c/0/1");
  half.crc32c.pop_back();
  fewer.set("c/0/1", half);
  CHECK(mentions(refusal(from, {.expected = &fewer}),
                 "1 checksums are recorded for its 2 inner chunks"));
  half.crc32c.emplace_back();
  fewer.set("c/0/1", half);
  CHECK(mentions(refusal(from, {.expected = &fewer}),
                 "inner chunk [1, 0]: it exists, but it was not part of the save"));
}

TEST_CASE("only what is needed is read: the index once, and the inner chunks asked for") {
  const stored from = make(shards({64, 64}, {32, 64}, {4, 64}));
  from.w.read(box::whole({64, 64})).value();
  CHECK(from.store->opens == 2);
  CHECK(from.store->reads == 2 + 2);  // the inner chunks of a shard lie next to each other
  from.reset_counts();
  from.w.read(box{{9, 3}, {2, 20}}).value();
  CHECK(from.store->opens == 1);
  CHECK(from.store->bytes_read == 8 * 16 + 4 + 4 * 64 * 4);
}

TEST_CASE("of uncompressed chunks only the rows are read that are long enough") {
  const stored from = make(raw_metadata(dtype_kind::int32, {64, 4096}, {64, 4096}));
  from.w.read(box{{10, 0}, {5, 4096}}).value();
  CHECK(from.store->reads == 1);
  CHECK(from.store->bytes_read == 5 * 4096 * 4);
  from.reset_counts();
  const auto columns = from.w.read(box{{10, 1000}, {5, 1024}}).value();
  CHECK(from.store->bytes_read == 5 * 1024 * 4);
  CHECK(columns.data<std::int32_t>()[1024] == 11 * 4096 + 1000 + 1);
  from.reset_counts();
  // One run, however short.
  CHECK(from.w.read(box{{63, 4095}, {1, 1}}).value().data<std::int32_t>()[0] == 64 * 4096);
  CHECK(from.store->bytes_read == 4);
  // Whole inner chunks where they are to be verified.
  from.reset_counts();
  from.w.read(box{{10, 0}, {5, 4096}}, read_options{.expected = &from.digests}).value();
  CHECK(from.store->bytes_read == 64 * 4096 * 4);
}

TEST_CASE("the rest is not read from a file where short rows are far apart") {
  const stored from = make(raw_metadata(dtype_kind::int32, {64, 512}, {64, 512}));
  const auto bytes_of_every = [&](index_t step) {
    from.reset_counts();
    const selection part({0, 0}, {(64 + step - 1) / step, 512}, {step, 1});
    const auto read = from.w.read(part).value();
    for (index_t i = 0; i < part.shape[0]; ++i)
      CHECK(read.data<std::int32_t>()[static_cast<std::size_t>(i * 512 + 7)] ==
            i * step * 512 + 7 + 1);
    return from.store->bytes_read.load();
  };
  CHECK(bytes_of_every(4) == 64 * 512 * 4);  // elsewhere each of them may be a request
  from.store->descriptor = 3;
  CHECK(bytes_of_every(3) == 64 * 512 * 4);
  CHECK(bytes_of_every(4) == 16 * 512 * 4);
  CHECK(bytes_of_every(60) == 2 * 512 * 4);
}

TEST_CASE("rows that are side by side in a file are read into their places") {
  const stored from = make(raw_metadata(dtype_kind::int32, {8, 1024}, {8, 512}));
  CHECK(from.w.read(box::whole({8, 1024})).value().data<std::int32_t>()[5000] == 5001);
  CHECK(from.store->reads == 2);  // and copied
  from.store->descriptor = 3;
  from.reset_counts();
  CHECK(from.w.read(box::whole({8, 1024})).value().data<std::int32_t>()[5000] == 5001);
  CHECK(from.store->reads == 2 * 8);  // which a file joins
  // One read is faster for a part of each.
  from.reset_counts();
  from.w.read(box{{0, 1}, {8, 511}}).value();
  CHECK(from.store->reads == 1);
}

TEST_CASE(
    "a chunk that is a member of a zip file, and has no checksum of its own, has that of the "
    "file") {
  const std::string metadata =
      R"({"zarr_format":3,"node_type":"array","shape":[100],"data_type":"uint8","chunk_grid":)"
      R"({"name":"regular","configuration":{"chunk_shape":[100]}},"chunk_key_encoding":)"
      R"({"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}]})";
  std::string bytes = test::zip_of({{"zarr.json", metadata}, {"c/0", std::string(100, 'h')}});
  bytes[bytes.find("hhhh") + 50] = 'j';
  const any_store store(zip_store::open(test::blob_of(bytes)).value());
  const array damaged = array::open(store, store_key::root()).value();
  const auto read = damaged.read(box::whole({100}));
  REQUIRE_FALSE(read);
  CHECK(read.failure().code == errc::corrupt);
  CHECK(read.failure().message.find("chunk c/0") != std::string::npos);
  CHECK(read.failure().message.find("crc32") != std::string::npos);
}

TEST_CASE("large uncompressed chunks are read in slabs, by all workers") {
  const thread_pool pool(3);
  context how;
  how.executor = pool.executor();
  random_source random(11);
  for (const dims& chunk : {dims{1031, 5, 257}, dims{1, 3, 601001}, dims{3, 700001, 1}}) {
    dims shape = chunk;
    shape[1] += 1;  // two chunks, the second nearly empty
    const stored from = make(raw_metadata(dtype_kind::int32, shape, chunk), how);
    const auto all = from.w.read(box::whole(shape)).value();
    CHECK(from.store->reads > 4);
    CHECK(std::equal(from.data.begin(), from.data.end(), all.data<std::int32_t>().begin()));
    for (int i = 0; i < 12; ++i) {
      box part;
      for (const index_t extent : shape) {
        const auto n = static_cast<std::size_t>(extent);
        part.offset.push_back(static_cast<index_t>(pick(random, n)));
        part.shape.push_back(1 + static_cast<index_t>(pick(
                                     random, n - static_cast<std::size_t>(part.offset.back()))));
      }
      const auto some = from.w.read(part).value();
      CHECK(same_elements(some.view(), subview(all.view(), part)));
    }
  }
}

TEST_CASE("whole uncompressed chunks go straight to their destination") {
  stored from = make(raw_metadata(dtype_kind::int32, {64, 64}, {8, 64}));
  context how;
  how.limit.memory = 0;  // no scratch memory at all
  std::vector<std::int32_t> into(64 * 64);
  from.w
      .read(box::whole({64, 64}), view_of(into, {64, 64}),
            read_options{.expected = &from.digests, .how = &how})
      .value();
  CHECK(into == from.data);
  const auto across =
      from.w.read(box{{0, 0}, {8, 3}}, view_of(into, {8, 3}), read_options{.how = &how});
  REQUIRE_FALSE(across);
  CHECK(across.failure().code == errc::resource_limit);
}

TEST_CASE("compressed chunks take no more scratch memory at a time than may be in flight") {
  const thread_pool pool(4);
  context how;
  how.executor = pool.executor();
  how.limit.bytes_in_flight = 20000;
  how = with_scratch(how);
  // Inner chunks of 16 KiB that do not compress much, read in halves.
  auto metadata = compressed(raw_metadata(dtype_kind::int32, {64, 4096}, {1, 4096}));
  const stored from = make(metadata, how);
  const auto read = from.w.read(box{{0, 2048}, {64, 2048}}).value();
  CHECK(read.data<std::int32_t>()[2048] == 4096 + 2048 + 1);
  CHECK(how.scratch->limiter().in_flight() == 0);
  // One takes more than the limit, so that it is let in alone.
  CHECK(how.scratch->limiter().peak() > 20000);
  CHECK(how.scratch->limiter().peak() < 36000);
}

TEST_CASE("the first of several faults is the one that is reported") {
  const thread_pool pool(4);
  context how;
  how.executor = pool.executor();
  auto metadata = raw_metadata(dtype_kind::int32, {64, 1024}, {1, 1024});
  metadata.codecs.push_back(crc32c_spec());
  stored from = make(metadata, how);
  for (const int row : {60, 41, 7, 33}) {
    const std::string key = "w/c/" + std::to_string(row) + "/0";
    recording_store::bytes bent = from.store.at(key);
    bent[3] ^= std::byte{1};
    from.store.set(key, bent);
  }
  for (int round = 0; round < 30; ++round)
    CHECK(mentions(refusal(from, {}), "chunk c/7/0: crc32c: "));
}

TEST_CASE("a store that fails is named") {
  const stored from = make(shards({8, 8}, {8, 8}, {2, 8}));
  from.store->reads_until_failure = 1;
  const error failure = refusal(from, {});
  CHECK(failure.code == errc::io);
  CHECK(mentions(failure, "memory:w/c/0/0: out of order"));
}

TEST_CASE("text keeps to the memory limit, however few bytes it is stored in") {
  constexpr index_t chunks = 50;
  constexpr std::size_t length = std::size_t{1} << 18;
  const array_metadata metadata = compressed(raw_metadata(dtype_kind::string, {chunks}, {1}));
  const std::vector<std::string> data(chunks, std::string(length, 'x'));
  const host_view given =
      dense_view(reinterpret_cast<const std::byte*>(data.data()), {dtype_kind::string, {chunks}});
  recording_store store;
  REQUIRE(array::create(store, key_of("w"), metadata).value().write(box::whole({chunks}), given));

  context how;
  how.limit.memory = std::size_t{4} << 20;
  array w = array::open(store, key_of("w"), how).value();
  const auto refused = w.read(box::whole({chunks}));
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::resource_limit);
  CHECK(mentions(refused.failure(), "bytes of text"));

  // Text counts until the operation ends: operations that share a budget do not use it up.
  how = with_scratch(how);
  w = array::open(store, key_of("w"), how).value();
  for (index_t i = 0; i < chunks; i += 10) {
    const tensor part = w.read(box{{i}, {10}}).value();
    CHECK(part.data<std::string>()[9] == data[0]);
  }
  CHECK(how.scratch->budget().peak() > 10 * length);
  CHECK_FALSE(w.read(box::whole({chunks})).has_value());
  CHECK(w.read(box{{0}, {10}}).has_value());
}

TEST_CASE("text of a fill value keeps to the memory limit, too") {
  array_metadata metadata = raw_metadata(dtype_kind::string, {1000}, {1000});
  metadata.fill = fill_value::of_text(std::string(std::size_t{1} << 20, 'x'));
  context how;
  how.limit.memory = std::size_t{16} << 20;
  recording_store store;
  const array w = array::create(store, key_of("w"), metadata, how).value();
  const auto refused = w.read(box::whole({1000}));
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::resource_limit);
  CHECK(w.read(box{{0}, {10}}).value().data<std::string>()[9].size() == std::size_t{1} << 20);
  const std::string word = "word";
  const auto unwritten =
      w.write(box{{0}, {1}},
              dense_view(reinterpret_cast<const std::byte*>(&word), {dtype_kind::string, {1}}));
  REQUIRE_FALSE(unwritten);
  CHECK(unwritten.failure().code == errc::resource_limit);
}

TEST_CASE("a small budget makes readers wait for each other, not fail") {
  const dims shape{16, 256 * 1024};
  std::vector<std::uint32_t> data(16 * 256 * 1024);
  std::uint32_t state = 1;
  for (std::uint32_t& one : data)
    one = state = state * 1664525U + 1013904223U;  // does not compress
  auto metadata = raw_metadata(dtype_kind::uint32, shape, {1, 256 * 1024});
  metadata.codecs = {bytes_spec(), zstd_spec()};
  const memory_store store;
  array::create(store, key_of("w"), metadata)
      .value()
      .write(box::whole(shape), view_of(data, shape))
      .value();
  const thread_pool pool(8);
  context how{.executor = pool.executor()};
  how.limit.memory = 3 << 20;  // a chunk is 1 MiB, in memory and as it is stored
  const array w = array::open(store, key_of("w"), how).value();
  std::vector<std::uint32_t> back(data.size());
  for (int round = 0; round < 5; ++round) {
    std::fill(back.begin(), back.end(), 0U);
    w.read(box::whole(shape), view_of(back, shape)).value();
    CHECK(back == data);
  }
}

}}  // namespace read_operation_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/write/write_operation.hpp>
#include <zarrpoint/codec/array_to_bytes/bytes.hpp>
#include <zarrpoint/codec/bytes_to_bytes/crc32c_codec.hpp>
#include <zarrpoint/exec/thread_pool.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace write_operation_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

bool mentions(const error& failure, const std::string& text) {
  return failure.message.find(text) != std::string::npos;
}

array_metadata shards(const dims& shape, const dims& shard, const dims& inner,
                      std::vector<codec_spec> codecs = {bytes_spec()}) {
  auto metadata = raw_metadata(dtype_kind::int32, shape, shard);
  metadata.codecs = std::move(codecs);
  return sharded_metadata(std::move(metadata), inner);
}
array make(const recording_store& store, const array_metadata& metadata, const context& how = {}) {
  return array::create(store, key_of("w"), metadata, how).value();
}
std::vector<std::int32_t> read_all(const array& w) {
  const auto read = w.read(box::whole(w.spec().shape)).value();
  const auto data = read.data<std::int32_t>();
  return {data.begin(), data.end()};
}

TEST_CASE("whole objects are written without a look at what was there") {
  recording_store store;
  const array w = make(store, shards({8, 6}, {4, 4}, {2, 2}));
  const auto data = counting({8, 6});
  store->opens = 0;
  w.write(box::whole({8, 6}), view_of(data, {8, 6})).value();
  w.write(box{{4, 4}, {4, 2}}, view_of(data, {4, 2})).value();  // up to the edge of the array
  CHECK(store->opens == 0);
  w.write(box{{4, 4}, {4, 1}}, view_of(data, {4, 1})).value();
  CHECK(store->opens == 1);
}

TEST_CASE("parts of chunks keep the rest") {
  recording_store store;
  auto metadata = raw_metadata(dtype_kind::int32, {4, 4}, {2, 4});
  metadata.fill = fill_value::of(std::int32_t{-1});
  const array w = make(store, metadata);
  const std::vector<std::int32_t> some{1, 2};
  w.write(box{{1, 1}, {1, 2}}, view_of(some, {1, 2})).value();
  CHECK(read_all(w) ==
        std::vector<std::int32_t>{-1, -1, -1, -1, -1, 1, 2, -1, -1, -1, -1, -1, -1, -1, -1, -1});
  w.write(selection({0, 0}, {1, 2}, {1, 3}), view_of(some, {1, 2})).value();
  CHECK(read_all(w) ==
        std::vector<std::int32_t>{1, -1, -1, 2, -1, 1, 2, -1, -1, -1, -1, -1, -1, -1, -1, -1});
  CHECK(store.keys() == std::vector<std::string>{"w/c/0/0", "w/zarr.json"});
}

TEST_CASE("inner chunks that a write does not touch are copied as they are stored") {
  recording_store store;
  const array w = make(store, shards({8}, {8}, {2}, {bytes_spec(), crc32c_spec()}));
  const auto data = counting({8});
  w.write(box::whole({8}), view_of(data, {8})).value();
  recording_store::bytes bent = store.at("w/c/0");
  bent[2] ^= std::byte{1};  // inner chunk 0 is damaged: it is kept so, and no one is stopped by it
  store.set("w/c/0", bent);
  const std::vector<std::int32_t> some{70, 80};
  chunk_digests digests;
  w.write(box{{6}, {2}}, view_of(some, {2}), write_options{.collected = &digests}).value();
  CHECK(w.read(box{{6}, {2}}).value().data<std::int32_t>()[1] == 80);
  CHECK(w.read(box{{2}, {4}}).value().data<std::int32_t>()[0] == 3);
  CHECK_FALSE(w.read(box{{0}, {2}}));
  CHECK(std::equal(bent.begin(), bent.begin() + 36, store.at("w/c/0").begin()));
  CHECK(digests.find("c/0")->crc32c.size() == 4);
  // To change a part of the damaged one it would have to be decoded.
  const std::vector<std::int32_t> one{5};
  const auto refused = w.write(box{{1}, {1}}, view_of(one, {1}));
  REQUIRE_FALSE(refused);
  CHECK(mentions(refused.failure(), "memory:w: chunk c/0: inner chunk [0]: crc32c: "));
  w.write(box{{0}, {2}}, view_of(some, {2})).value();
  CHECK(w.read(box::whole({8})).has_value());
}

TEST_CASE("chunks of nothing but the fill value are not stored, unless they shall be") {
  recording_store store;
  const array w = make(store, shards({8}, {4}, {2}));
  std::vector<std::int32_t> data{0, 0, 1, 2, 3, 0, 0, 0};
  chunk_digests digests;
  w.write(box::whole({8}), view_of(std::as_const(data), {8}), write_options{.collected = &digests})
      .value();
  CHECK_FALSE(digests.find("c/0")->crc32c[0]);
  CHECK(digests.find("c/0")->crc32c[1]);
  CHECK(store.at("w/c/0").size() == 8 + 36);
  CHECK(read_all(w) == data);

  data = {0, 0, 0, 0, 3, 0, 0, 0};
  w.write(box{{0}, {4}}, view_of(std::as_const(data), {4}), write_options{.collected = &digests})
      .value();
  CHECK_FALSE(store.has("w/c/0"));  // erased
  CHECK(digests.find("c/0")->absent());
  w.write(box{{4}, {1}}, view_of(std::as_const(data), {1})).value();
  CHECK_FALSE(store.has("w/c/1"));
  CHECK(read_all(w) == std::vector<std::int32_t>(8));
  w.write(box{{0}, {4}}, view_of(std::as_const(data), {4}),
          write_options{.elide_fill = false, .collected = &digests})
      .value();
  CHECK(store.at("w/c/0").size() == 16 + 36);
  CHECK(digests.find("c/0")->size == 16 + 36);
  CHECK(w.read(box{{0}, {4}}, read_options{.missing = missing_chunks::error, .expected = &digests})
            .has_value());

  recording_store flat;
  const array v = make(flat, raw_metadata(dtype_kind::int32, {8}, {4}));
  v.write(box{{4}, {4}}, view_of(std::as_const(data), {4}), write_options{.elide_fill = false})
      .value();
  CHECK(flat.has("w/c/1"));
  v.write(box{{4}, {4}}, view_of(std::as_const(data), {4})).value();
  CHECK_FALSE(flat.has("w/c/1"));
}

TEST_CASE("negative zero and NaN are what they are when compared with the fill value") {
  recording_store store;
  const array w = make(store, raw_metadata(dtype_kind::float32, {2}, {1}));
  const std::vector<float> data{-0.0F, 0.0F};
  w.write(box::whole({2}), view_of(data, {2})).value();
  CHECK(store.has("w/c/0"));
  CHECK_FALSE(store.has("w/c/1"));
}

TEST_CASE("chunks past the edge are stored at full size, padded with the fill value") {
  recording_store store;
  auto metadata = raw_metadata(dtype_kind::int32, {3}, {2});
  metadata.fill = fill_value::of(std::int32_t{7});
  const array w = make(store, metadata);
  const auto data = counting({3});
  w.write(box::whole({3}), view_of(data, {3})).value();
  const auto& last = store.at("w/c/1");
  REQUIRE(last.size() == 8);
  CHECK(load_le<std::uint32_t>(last.data()) == 3);
  CHECK(load_le<std::uint32_t>(last.data() + 4) == 7);
}

TEST_CASE("inner chunks beyond the array are never stored") {
  recording_store store;
  const array w = make(store, shards({5, 3}, {8, 8}, {2, 2}));
  const auto data = counting({5, 3});
  w.write(box::whole({5, 3}), view_of(data, {5, 3})).value();
  CHECK(store.at("w/c/0/0").size() == 6 * 16 + 16 * 16 + 4);
  CHECK(read_all(w) == data);
}

/// Data that compress to inner chunks of very different sizes.
std::vector<std::int32_t> uneven(std::size_t count) {
  random_source random(5);
  std::vector<std::int32_t> out(count);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = i / 4096 % 3 == 0 ? static_cast<std::int32_t>(random())
                               : static_cast<std::int32_t>(i / 900);
  return out;
}

TEST_CASE(
    "the same data give the same bytes, however many workers there are and whatever fits in "
    "flight") {
  const dims shape{64, 4096};
  const auto data = uneven(64 * 4096);
  for (const auto& codecs :
       {std::vector<codec_spec>{bytes_spec()}, {bytes_spec(), zstd_spec(), crc32c_spec()}}) {
    recording_store::bytes reference;
    chunk_digests reference_digests;
    for (const unsigned workers : {1U, 2U, 5U}) {
      for (const std::size_t in_flight : {std::size_t{0}, std::size_t{20000}, std::size_t{1}}) {
        const thread_pool pool(workers);
        context how;
        how.executor = pool.executor();
        how.limit.bytes_in_flight = in_flight;
        recording_store store;
        const array w = make(store, shards(shape, {32, 4096}, {1, 4096}, codecs), how);
        chunk_digests digests;
        w.write(box::whole(shape), view_of(data, shape), write_options{.collected = &digests})
            .value();
        if (reference.empty()) {
          reference = store.at("w/c/1/0");
          reference_digests = digests;
          CHECK(read_all(w) == data);
        }
        CHECK(store.at("w/c/1/0") == reference);
        CHECK(digests == reference_digests);
      }
    }
  }
}

TEST_CASE("a write that fails leaves the object as it was, and says which it is") {
  const dims shape{64, 4096};
  const auto data = uneven(64 * 4096);
  const std::vector<std::int32_t> other(data.rbegin(), data.rend());
  const thread_pool pool(4);
  for (const unsigned workers : {1U, 4U}) {
    context how;
    if (workers > 1) how.executor = pool.executor();
    how.limit.bytes_in_flight = 40000;
    recording_store store;
    const array w =
        make(store, shards(shape, {64, 4096}, {1, 4096}, {bytes_spec(), zstd_spec()}), how);
    w.write(box::whole(shape), view_of(data, shape)).value();
    for (const int until : {0, 1, 20, 63, 64}) {
      store->writes_until_failure = until;
      const auto refused = w.write(box::whole(shape), view_of(other, shape));
      REQUIRE_FALSE(refused);
      CHECK(refused.failure().code == errc::io);
      CHECK(mentions(refused.failure(), "memory:w: chunk c/0/0: "));
      CHECK(mentions(refused.failure(), "no space left"));
    }
    store->writes_until_failure = INT64_MAX;
    CHECK(read_all(w) == data);
  }
}

#if ZARRPOINT_EXCEPTIONS
/// Throws where a chunk begins with a zero, after the others have had time to come near.
struct throwing_codec {
  static constexpr std::string_view name = "test.throwing";
  static constexpr bool fixed_size = true;
  static result<throwing_codec> from_configuration(const json&) { return throwing_codec{}; }
  json configuration() const { return {}; }
  std::uint64_t encoded_bound(std::uint64_t decoded) const { return decoded; }
  result<std::size_t> encode(bytes_view from, mutable_bytes to, codec_workspace&) const {
    if (from[0] == std::byte{0}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      throw std::runtime_error("no more");
    }
    std::copy(from.begin(), from.end(), to.begin());
    return from.size();
  }
  result<std::size_t> decode(bytes_view from, mutable_bytes to, codec_workspace&) const {
    std::copy(from.begin(), from.end(), to.begin());
    return from.size();
  }
};

TEST_CASE("an exception in one inner chunk is an error of the write, and nobody waits for ever") {
  const thread_pool pool(4);
  context how{.executor = pool.executor(),
              .codecs = codec_registry<bytes_codec, crc32c_codec, throwing_codec>::table()};
  recording_store store;
  const array w = make(
      store, shards({256, 2}, {256, 2}, {1, 2}, {bytes_spec(), {"test.throwing", json()}}), how);
  std::vector<std::int32_t> data(512, 1);
  for (const std::size_t where : {0U, 100U, 255U}) {
    data[2 * where] = 0;
    const auto refused = w.write(box::whole({256, 2}), view_of(data, {256, 2}));
    REQUIRE_FALSE(refused);
    CHECK(mentions(refused.failure(), "no more"));
    data[2 * where] = 1;
  }
  CHECK(w.write(box::whole({256, 2}), view_of(data, {256, 2})));
}
#endif

/// Refuses one allocation.
class refusing_resource final : public memory_resource {
 public:
  explicit refusing_resource(int which) : left_(which) {}
  void* allocate(std::size_t bytes, std::size_t alignment) noexcept override {
    if (left_.fetch_sub(1) == 0) return nullptr;
    return default_resource().allocate(bytes, alignment);
  }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment) noexcept override {
    default_resource().deallocate(memory, bytes, alignment);
  }
  bool refused() const { return left_ < 0; }

 private:
  std::atomic<int> left_;
};

TEST_CASE("whichever allocation is refused, reads and writes end, with the data or an error") {
  const thread_pool pool(4);
  const dims shape{64, 64};
  const auto data = uneven(64 * 64);
  bool refused = true;
  for (int which = 0; refused; ++which) {
    refusing_resource memory(which);
    context how{.executor = pool.executor(), .resource = &memory};
    how.limit.bytes_in_flight = 1;
    recording_store store;
    const array w = make(store, shards(shape, {32, 64}, {1, 64}, {bytes_spec(), zstd_spec()}), how);
    const auto written = w.write(box::whole(shape), view_of(data, shape));
    if (!written) {
      CHECK(written.failure().code == errc::resource_limit);
      continue;
    }
    std::vector<std::int32_t> back(data.size());
    const auto read = w.read(box::whole(shape), view_of(back, shape));
    if (read) {
      CHECK(back == data);
    } else {
      CHECK(read.failure().code == errc::resource_limit);
    }
    refused = memory.refused();
    REQUIRE(which < 10000);
  }
}

TEST_CASE("a chunk that is stored in too many bytes is not loaded for a write to part of it") {
  recording_store store;
  const array w = make(store, raw_metadata(dtype_kind::int32, {10}, {10}));
  store.put(key_of("w/c/0"), std::vector<std::byte>(4096)).value();
  const std::vector<std::int32_t> one{1};
  const auto refused = w.write(box{{1}, {1}}, view_of(one, {1}));
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::corrupt);
  CHECK(mentions(refused.failure(),
                 "4096 bytes are stored for a chunk of int32[10], which takes 40"));
}

TEST_CASE("stores are told which bytes stay: elements of the caller that are stored as they are") {
  const auto data = counting({4, 8});
  const host_view all = view_of(data, {4, 8});
  const auto kept_of = [&](const array_metadata& metadata, const host_view& from) {
    recording_store store;
    make(store, metadata).write(box::whole(from.shape), from).value();
    CHECK(store->writers == 0);
    return store->kept;
  };
  const auto kept = kept_of(shards({4, 8}, {4, 8}, {2, 8}), all);
  CHECK(kept == std::vector<const std::byte*>{all.data, all.data + 64});
  CHECK(kept_of(shards({4, 8}, {4, 8}, {2, 4}), all).empty());  // gathered
  CHECK(kept_of(shards({5, 8}, {8, 8}, {8, 8}), all).empty());  // filled up
  CHECK(kept_of(shards({4, 8}, {4, 8}, {2, 8}, {bytes_spec(), crc32c_spec()}), all).empty());
  CHECK(kept_of(shards({4, 8}, {4, 8}, {2, 8}, {bytes_spec("big")}), all).empty());
}

TEST_CASE("bytes that stay need not stay longer than the write, though it failed") {
  thread_pool pool(4);
  const context how{.executor = pool.executor()};
  const dims shape{64, 4096};
  const auto data = counting(shape);
  for (std::int64_t left = 0; left < 80; left += 7) {
    recording_store store;
    const array w = make(store, shards(shape, {64, 4096}, {1, 4096}), how);
    store->writes_until_failure = left;
    CHECK(w.write(box::whole(shape), view_of(data, shape)).has_value() == (left > 64));
    CHECK(store->writers == 0);
  }
}

TEST_CASE("strings in shards") {
  recording_store store;
  const array w = array::create(store, key_of("w"),
                                sharded_metadata(raw_metadata(dtype_kind::string, {5}, {4}), {2}))
                      .value();
  const std::vector<std::string> texts{"one", "", "drei", "four, and longer than a small string",
                                       "5"};
  const host_view view =
      dense_view(reinterpret_cast<const std::byte*>(texts.data()), {dtype_kind::string, {5}});
  w.write(box::whole({5}), view).value();
  const auto read = w.read(box::whole({5})).value();
  CHECK(std::vector<std::string>(read.data<std::string>().begin(),
                                 read.data<std::string>().end()) == texts);
  w.write(box{{1}, {1}}, subview(view, box{{3}, {1}})).value();
  CHECK(w.read(box{{0}, {2}}).value().data<std::string>()[1] == texts[3]);
}

TEST_CASE("inner chunks begin at multiples of the alignment, unless they are small or packed") {
  // 64 KiB of noise an inner chunk, which zstd stores in a little more.
  auto metadata = raw_metadata(dtype_kind::uint8, {4, 65521}, {4, 65521});
  metadata.codecs.push_back(zstd_spec());
  metadata = sharded_metadata(metadata, {1, 65521});
  std::vector<std::uint8_t> data(4 * 65521);
  random_source random(3);
  for (std::uint8_t& one : data) one = static_cast<std::uint8_t>(random());
  const auto offsets = [&](std::uint32_t alignment) {
    recording_store store;
    const array made = array::create(store, key_of("w"), metadata).value();
    made.write(box::whole(metadata.shape), view_of(std::as_const(data), metadata.shape),
               write_options{.alignment = alignment})
        .value();
    CHECK(elements_of(made.read(box::whole(metadata.shape)).value().view()) ==
          elements_of(view_of(std::as_const(data), metadata.shape)));
    const recording_store::bytes shard = store.at("w/c/0/0");
    codec_workspace scratch;
    const shard_parts& parts = *made.layout().shard();
    const detail::shard_index index =
        detail::decode_index(parts, bytes_view(shard).last(parts.index_size), shard.size(), scratch)
            .value();
    std::vector<std::uint64_t> out;
    for (std::size_t i = 0; i < index.size(); ++i) out.push_back(index[i].offset);
    return out;
  };
  for (const std::uint64_t at : offsets(64)) CHECK(at % 64 == 0);
  for (const std::uint64_t at : offsets(4096)) CHECK(at % 4096 == 0);
  const auto packed = offsets(1);
  CHECK(std::any_of(packed.begin(), packed.end(), [](std::uint64_t at) { return at % 64 != 0; }));
}

}}  // namespace write_operation_test

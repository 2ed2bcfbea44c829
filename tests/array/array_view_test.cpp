// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/shard/shard_index.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/exec/thread_pool.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace array_view_test { namespace {

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

bool is_mapped(const written& from) {
  const auto view = from.w.view(read_options{.expected = &from.digests}).value();
  if (!view) return false;
  std::vector<std::int32_t> data = counting(from.w.spec().shape);
  CHECK(view->elements.spec() == from.w.spec());
  CHECK(elements_of(view->elements) == elements_of(as_const(view_of(data, from.w.spec().shape))));
  return true;
}
bool is_mapped(const dims& shape, const dims& chunk) {
  return is_mapped(write_all(raw_metadata(dtype_kind::int32, shape, chunk)));
}
bool is_mapped(const dims& shape, const dims& chunk, const dims& inner) {
  return is_mapped(
      write_all(sharded_metadata(raw_metadata(dtype_kind::int32, shape, chunk), inner)));
}

TEST_CASE("one chunk is mapped when padding comes after all its elements") {
  CHECK(is_mapped({4, 6}, {4, 6}));
  CHECK(is_mapped({4, 6}, {5, 6}));
  CHECK(is_mapped({1, 4}, {1, 6}));
  CHECK(is_mapped({1, 4}, {3, 6}));
  CHECK(is_mapped({}, {}));
  CHECK_FALSE(is_mapped({4, 6}, {4, 7}));
  CHECK_FALSE(is_mapped({4, 6}, {2, 6}));
}

TEST_CASE("one shard is mapped when its inner chunks are split along the leading axis") {
  CHECK(is_mapped({8, 6}, {8, 6}, {2, 6}));
  CHECK(is_mapped({7, 6}, {8, 6}, {2, 6}));
  CHECK(is_mapped({8, 6}, {8, 6}, {8, 6}));
  CHECK(is_mapped({8, 6}, {8, 6}, {1, 3}));
  CHECK(is_mapped({1, 6}, {1, 8}, {1, 2}));
  CHECK(is_mapped({2, 3, 4}, {2, 3, 4}, {1, 1, 2}));
  CHECK(is_mapped({2, 3, 4}, {2, 3, 4}, {1, 3, 4}));
  CHECK_FALSE(is_mapped({2, 3, 4}, {2, 3, 4}, {1, 3, 2}));
  CHECK_FALSE(is_mapped({8, 6}, {8, 6}, {2, 3}));
  CHECK_FALSE(is_mapped({8, 5}, {8, 6}, {1, 3}));
  CHECK_FALSE(is_mapped({8, 6}, {4, 6}, {2, 6}));
  CHECK_FALSE(is_mapped({1, 6}, {2, 6}, {2, 2}));
}

TEST_CASE("the first inner chunk is aligned, wherever the index stands") {
  for (const auto location : {index_location::end, index_location::start}) {
    const written from = write_all(
        sharded_metadata(raw_metadata(dtype_kind::int32, {9, 5}, {9, 5}), {3, 5}, location));
    CHECK(is_mapped(from));
    const auto view = from.w.view().value();
    REQUIRE(view);
    const auto offset = view->elements.data - view->memory.bytes().data();
    CHECK(offset % 64 == 0);
    CHECK(offset == (location == index_location::end ? 0 : 64));
  }
}

TEST_CASE("what is encoded is not mapped") {
  const auto with = [](std::vector<codec_spec> codecs) {
    auto metadata = raw_metadata(dtype_kind::int32, {4, 6}, {4, 6});
    metadata.codecs = std::move(codecs);
    return is_mapped(write_all(metadata));
  };
  CHECK(with({bytes_spec()}));
  CHECK_FALSE(with({bytes_spec("big")}));
  CHECK_FALSE(with({bytes_spec(), crc32c_spec()}));
  CHECK_FALSE(with({bytes_spec(), zstd_spec()}));
  CHECK_FALSE(with({transpose_spec({1, 0}), bytes_spec()}));
}

TEST_CASE("absent chunks, stores that cannot map and empty arrays") {
  recording_store store;
  const auto metadata = raw_metadata(dtype_kind::int32, {4}, {4});
  const array w = array::create(store, key_of("w"), metadata).value();
  CHECK_FALSE(w.view().value().has_value());
  written there = write_all(metadata);
  there.store->can_map = false;
  CHECK_FALSE(there.w.view().value().has_value());
  const array empty =
      array::create(store, key_of("e"), raw_metadata(dtype_kind::int32, {0, 3}, {1, 3})).value();
  const auto view = empty.view().value();
  REQUIRE(view);
  CHECK(view->elements.shape == dims{0, 3});
}

TEST_CASE("elements that are not aligned for their type are not mapped") {
  written from = write_all(sharded_metadata(raw_metadata(dtype_kind::int32, {4}, {4}), {2}));
  // The same inner chunks two bytes further on.
  recording_store::bytes bytes = from.store.at("w/c/0");
  bytes.insert(bytes.begin(), 2, std::byte{0});
  detail::shard_index index = detail::shard_index::make(2).value();
  index.set(0, {2, 8});
  index.set(1, {10, 8});
  const std::size_t at = bytes.size() - 36;
  std::copy_n(index.words().data(), 32, bytes.data() + at);
  store_le<std::uint32_t>(bytes.data() + at + 32, crc32c(bytes_view(bytes).subspan(at, 32)));
  from.store.set("w/c/0", bytes);
  CHECK(from.w.read(box::whole({4})).value().data<std::int32_t>()[3] == 4);
  CHECK_FALSE(from.w.view().value().has_value());
}

TEST_CASE("a mapped view is verified when digests are given") {
  written from =
      write_all(sharded_metadata(raw_metadata(dtype_kind::int32, {6, 4}, {6, 4}), {2, 4}));
  recording_store::bytes bytes = from.store.at("w/c/0/0");
  bytes[40] ^= std::byte{1};
  from.store.set("w/c/0/0", bytes);
  CHECK(from.w.view().value().has_value());
  const auto refused = from.w.view(read_options{.expected = &from.digests});
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::corrupt);
  CHECK(refused.failure().message.find("chunk c/0/0") != std::string::npos);
  from.store->objects.erase("w/c/0/0");
  CHECK_FALSE(from.w.view(read_options{.expected = &from.digests}));
}

}}  // namespace array_view_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/read/stored_object.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace window_store_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("a part of an object is an object, and no more of it can be read") {
  recording_store store;
  store.set("a", {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}});
  const auto base = store.open(key_of("a")).value();
  const detail::window_store window(*base, {1, 2});
  const auto part = window.open(key_of("x")).value();
  CHECK(part->size() == 2);
  std::vector<std::byte> into(2);
  REQUIRE(part->read(0, into));
  CHECK(into[1] == std::byte{3});
  CHECK(part->read(1, into).failure().code == errc::out_of_range);
  CHECK(window.describe(key_of("x")) == base->name());
}

TEST_CASE("of a shard within a shard only what is wanted is read, however deep") {
  recording_store store;
  auto metadata = raw_metadata(dtype_kind::int32, {64, 64}, {64, 64});
  metadata.fill = fill_value::of(std::int32_t{-1});
  sharding_config deepest;
  deepest.chunk_shape = {8, 8};
  deepest.codecs = {transpose_spec({1, 0}), bytes_spec(), crc32c_spec()};
  sharding_config middle;
  middle.chunk_shape = {16, 16};
  middle.codecs = {deepest.to_spec().value()};
  middle.location = index_location::start;
  sharding_config outer;
  outer.chunk_shape = {32, 32};
  outer.codecs = {transpose_spec({1, 0}), middle.to_spec().value()};
  metadata.codecs = {outer.to_spec().value()};
  const array made = array::create(store, key_of("a"), metadata).value();
  const auto data = counting({64, 64});
  made.write(box::whole({64, 64}), view_of(data, {64, 64})).value();
  for (const selection& part : {selection(box{{33, 1}, {3, 3}}), selection({5, 7}, {9, 7}, {6, 8}),
                                selection(box{{0, 0}, {64, 1}})}) {
    store->bytes_read = 0;
    const tensor some = made.read(part).value();
    CHECK(elements_of(some.view()) == elements_of(subview(view_of(data, {64, 64}), part)));
    if (part.shape == dims{3, 3}) CHECK(store->bytes_read < 600);  // three indexes, one chunk
  }
  // What is not stored within a shard within a shard is the fill value, whatever is read of it.
  const std::vector<std::int32_t> fill(64, -1);
  made.write(box{{0, 0}, {8, 8}}, view_of(fill, {8, 8})).value();
  const read_options strict{.missing = missing_chunks::error};
  CHECK(made.read(box{{0, 0}, {64, 64}}, strict));
  CHECK(made.read(box{{1, 1}, {2, 2}}, strict).value().data<std::int32_t>()[0] == -1);
  std::vector<double> wide(9);
  made.read(box{{33, 1}, {3, 3}}, view_of(wide, {3, 3}), read_options{.cast = true}).value();
  CHECK(wide[4] == 34 * 64 + 2 + 1);
}

}}  // namespace window_store_test

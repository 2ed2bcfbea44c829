// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/shard/layout.hpp>

#include "support/array_cases.hpp"

#include <doctest/doctest.h>

#include <string>

namespace layout_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

result<array_layout> resolve(const array_metadata& metadata, const limits& limit = {}) {
  return array_layout::resolve(metadata, all_codecs::table(), limit);
}
error refusal(const array_metadata& metadata, const limits& limit = {}) {
  const auto layout = resolve(metadata, limit);
  REQUIRE_FALSE(layout);
  return layout.failure();
}
bool mentions(const error& failure, const std::string& text) {
  return failure.message.find(text) != std::string::npos;
}

const array_metadata plain = raw_metadata(dtype_kind::int32, {10, 7}, {4, 6});

array_metadata with_sharding(const sharding_config& config) {
  array_metadata out = plain;
  out.codecs = {config.to_spec().value()};
  return out;
}
sharding_config config_of(const dims& inner) {
  sharding_config out;
  out.chunk_shape = inner;
  out.codecs = {bytes_spec()};
  return out;
}

TEST_CASE("without shards an object is one inner chunk") {
  const array_layout layout = resolve(plain).value();
  CHECK(layout.shard() == nullptr);
  CHECK(layout.inner_count() == 1);
  CHECK(layout.grid().inner_shape == dims{4, 6});
  CHECK(layout.grid().objects() == dims{3, 2});
  CHECK(layout.slot({0, 0}) == 0);
  CHECK(layout.can_write());
}

TEST_CASE("a shard's grid, index and slots") {
  const array_layout layout = resolve(with_sharding(config_of({2, 3}))).value();
  REQUIRE(layout.shard() != nullptr);
  CHECK(layout.inner_count() == 4);
  CHECK(layout.shard()->index_size == 4 * 16 + 4);
  CHECK(layout.shard()->index_offset(100) == 100 - 68);
  CHECK(layout.slot({1, 0}) == 2);
  CHECK(layout.index_coordinates({1, 0}) == dims{1, 0});
  CHECK(layout.is_row_major());
  sharding_config start = config_of({2, 3});
  start.location = index_location::start;
  start.index_codecs = {bytes_spec("big")};
  const array_layout other = resolve(with_sharding(start)).value();
  CHECK(other.shard()->index_size == 64);
  CHECK(other.shard()->index_offset(100) == 0);
}

TEST_CASE("a transpose before a shard turns its grid") {
  array_metadata metadata = with_sharding(config_of({3, 2}));  // of the shard as 6 x 4
  metadata.codecs.insert(metadata.codecs.begin(), transpose_spec({1, 0}));
  const array_layout layout = resolve(metadata).value();
  CHECK_FALSE(layout.is_row_major());
  CHECK(layout.grid().inner_shape == dims{2, 3});
  CHECK(layout.chain().chunk_spec().shape == dims{2, 3});
  CHECK(layout.slot({1, 0}) == 1);
  CHECK(layout.slot({0, 1}) == 2);
  CHECK(layout.index_coordinates({1, 0}) == dims{0, 1});
  metadata.codecs[1] = config_of({2, 3}).to_spec().value();
  CHECK(mentions(refusal(metadata), "does not divide the shard of shape [6, 4]"));
}

TEST_CASE("codecs around shards") {
  array_metadata after = with_sharding(config_of({2, 3}));
  after.codecs.push_back(crc32c_spec());
  const array_layout layout = resolve(after).value();
  CHECK(layout.shard() == nullptr);  // a chain that holds the shard
  CHECK(layout.inner_count() == 1);
  CHECK(layout.can_write());
  after.codecs.back() = bytes_spec();
  CHECK(mentions(refusal(after),
                 "\"bytes\": works on elements, but comes after the codec that makes bytes"));
  array_metadata before = with_sharding(config_of({2, 3}));
  before.codecs.insert(before.codecs.begin(), crc32c_spec());
  CHECK(mentions(refusal(before), "\"crc32c\" cannot precede sharding_indexed"));
  array_metadata twice = with_sharding(config_of({2, 3}));
  twice.codecs.push_back(twice.codecs.back());
  CHECK(mentions(refusal(twice), "twice"));
}

TEST_CASE("a codec that need not be understood is left out, and then nothing is written") {
  array_metadata metadata = plain;
  metadata.codecs.push_back({"someday", {}, false});
  CHECK_FALSE(resolve(metadata).value().can_write());
  metadata = with_sharding(config_of({2, 3}));
  metadata.codecs.insert(metadata.codecs.begin(), codec_spec{"someday", {}, false});
  CHECK_FALSE(resolve(metadata).value().can_write());
}

TEST_CASE("shards that make no sense are refused") {
  CHECK(mentions(refusal(with_sharding(config_of({3, 3}))), "does not divide"));
  CHECK(mentions(refusal(with_sharding(config_of({2}))), "rank"));
  CHECK(mentions(refusal(with_sharding(config_of({0, 3}))), "does not divide"));
  CHECK(mentions(refusal(with_sharding(config_of({8, 6}))), "does not divide"));
  sharding_config variable = config_of({2, 3});
  variable.index_codecs = {bytes_spec(), zstd_spec()};
  CHECK(refusal(with_sharding(variable)).code == errc::unsupported);
  sharding_config nested = config_of({2, 3});
  nested.codecs = {config_of({1, 1}).to_spec().value()};
  CHECK(resolve(with_sharding(nested)).value().shard()->chain.chunk_spec().shape == dims{2, 3});
  nested.codecs = {config_of({2, 2}).to_spec().value()};
  CHECK(
      mentions(refusal(with_sharding(nested)), "[2, 2] does not divide the shard of shape [2, 3]"));
  sharding_config unknown = config_of({2, 3});
  unknown.codecs.push_back({"conditional"});
  CHECK(mentions(refusal(with_sharding(unknown)), "conditional"));
  unknown = config_of({2, 3});
  unknown.index_codecs.push_back({"adler32"});
  CHECK(mentions(refusal(with_sharding(unknown)), "adler32"));
}

TEST_CASE("the number of inner chunks has a limit") {
  array_metadata metadata = with_sharding(config_of({1, 1}));
  metadata.chunk_shape = {4096, 4096};
  metadata.shape = {4096, 4096};
  CHECK(resolve(metadata).value().inner_count() == 1 << 24);
  const error failure = refusal(metadata, limits{.max_inner_chunks = (1 << 24) - 1});
  CHECK(failure.code == errc::resource_limit);
  metadata.chunk_shape = {index_t{1} << 40, index_t{1} << 20};
  metadata.shape = metadata.chunk_shape;
  CHECK_FALSE(resolve(metadata));
}

TEST_CASE("chunks of 0 on an axis of length 0 do no harm") {
  array_metadata metadata = with_sharding(config_of({0, 3}));
  metadata.shape = {0, 7};
  metadata.chunk_shape = {1, 6};  // what the metadata reader makes of [0, 6]
  const array_layout layout = resolve(metadata).value();
  CHECK(layout.grid().inner_shape == dims{1, 3});
}

}}  // namespace layout_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/shard/sharding_codec.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/zarr/fill_value.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace sharding_codec_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

/// Adds one to each uint8: a codec that changes what the fill value is.
struct successor_codec {
  static constexpr std::string_view name = "test.successor";

  static result<successor_codec> from_configuration(const json&) { return successor_codec{}; }
  json configuration() const { return {}; }
  tensor_spec encoded_spec(const tensor_spec& decoded) const { return decoded; }
  result<void> encode(const host_view& from, const mutable_host_view& to, codec_workspace&) const {
    return add(from, to, 1);
  }
  result<void> decode(const host_view& from, const mutable_host_view& to, codec_workspace&) const {
    return add(from, to, 255);
  }

 private:
  static result<void> add(const host_view& from, const mutable_host_view& to, unsigned what) {
    copy_elements(to, from);
    for_each_coordinate(to.shape, [&](const dims& at) {
      std::byte& one = to.data[offset_of(at, to.strides)];
      one = static_cast<std::byte>(static_cast<unsigned>(one) + what);
    });
    return {};
  }
};

using codecs_here = default_codecs::with<successor_codec>;

codec_spec sharding(const dims& inner, std::vector<codec_spec> codecs,
                    index_location at = index_location::end) {
  sharding_config config;
  config.chunk_shape = inner;
  config.codecs = std::move(codecs);
  config.location = at;
  return config.to_spec().value();
}

codec_chain chain_of(std::vector<codec_spec> codecs, const tensor_spec& chunk,
                     const fill_value& fill) {
  return codec_chain::resolve(codecs, chunk, detail::array_codecs(codecs_here::table(), 1 << 20),
                              fill.bytes())
      .value();
}

std::vector<std::uint8_t> bytes_of(bytes_view bytes) {
  std::vector<std::uint8_t> out;
  for (const std::byte b : bytes) out.push_back(static_cast<std::uint8_t>(b));
  return out;
}

TEST_CASE("a shard, byte for byte: inner chunks, then the index; empty ones are not stored") {
  const tensor_spec spec{dtype_kind::uint8, {2, 4}};
  const std::vector<std::uint8_t> data{1, 2, 0, 0, 3, 4, 0, 0};
  const host_view view = view_of(data, spec.shape);
  sharding_config config;
  config.chunk_shape = {2, 2};
  config.codecs = {codec_spec{"bytes"}};
  config.index_codecs = {bytes_spec()};
  const codec_chain chain = chain_of({config.to_spec().value()}, spec, fill_value::zero(spec.type));
  codec_workspace scratch;
  const std::vector<std::uint8_t> stored = bytes_of(chain.encode(view, scratch).value());
  std::vector<std::uint8_t> expected{1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0};
  expected.resize(4 + 32, 255);
  CHECK(stored == expected);

  std::vector<std::uint8_t> back(8, 9);
  const auto decode = [&](const std::vector<std::uint8_t>& from) {
    return chain.decode(std::as_bytes(std::span(from)), view_of(back, spec.shape), scratch);
  };
  REQUIRE(decode(stored));
  CHECK(back == data);
  for (std::size_t cut = 0; cut < stored.size(); ++cut)
    CHECK_FALSE(decode({stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(cut)}));
  for (std::size_t i = 4; i < stored.size(); ++i) {
    std::vector<std::uint8_t> damaged = stored;
    damaged[i] ^= 0x40;
    const auto done = decode(damaged);
    CAPTURE(i);
    REQUIRE_FALSE(done);
    CHECK(done.failure().code == errc::corrupt);
  }
}

TEST_CASE("shards in shards in shards, with codecs before and after each") {
  const tensor_spec spec{dtype_kind::uint8, {8, 4}};
  fill_value fill = fill_value::of(std::uint8_t{7});
  const codec_chain chain = chain_of(
      {transpose_spec({1, 0}), codec_spec{"test.successor"},
       sharding({4, 4}, {codec_spec{"test.successor"},
                         sharding({2, 4}, {transpose_spec({1, 0}), codec_spec{"test.successor"},
                                           sharding({1, 2}, {codec_spec{"bytes"}, zstd_spec()},
                                                    index_location::start),
                                           crc32c_spec()}),
                         zstd_spec()}),
       crc32c_spec()},
      spec, fill);
  codec_workspace scratch;
  std::vector<std::uint8_t> data(32, 7);
  const auto round_trip = [&] {
    const bytes_view stored =
        chain.encode(view_of(std::as_const(data), spec.shape), scratch).value();
    const std::vector<std::byte> kept(stored.begin(), stored.end());
    std::vector<std::uint8_t> back(32, 99);
    chain.decode(kept, view_of(back, spec.shape), scratch).value();
    CHECK(back == data);
    return kept.size();
  };
  // All of it is the fill value, which the codecs make 8, then 9, then 10: nothing but one index.
  const std::size_t empty = round_trip();
  CHECK(empty == 2 * 16 + 4 + 4);
  data[13] = 1;
  CHECK(round_trip() > empty);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(i * 37);
  round_trip();
}

TEST_CASE("strings, whose size nobody knows beforehand, in shards in shards") {
  auto metadata = raw_metadata(dtype_kind::string, {6, 4}, {6, 4});
  metadata.codecs = {sharding({3, 4}, {sharding({3, 2}, {codec_spec{"vlen-utf8"}, zstd_spec()})}),
                     zstd_spec()};
  metadata.fill = fill_value::of_text("none");
  tensor texts = tensor::make(metadata.spec()).value();
  int i = 0;
  for (std::string& text : texts.data<std::string>())
    text = ++i < 8 ? "none" : std::string(static_cast<std::size_t>(i * i), 'x');
  const array made = array::create(recording_store(), key_of("a"), metadata).value();
  made.write(box::whole(metadata.shape), texts.view()).value();
  const tensor back = made.read(box::whole(metadata.shape)).value();
  CHECK(elements_of(back.view()) == elements_of(texts.view()));
}

TEST_CASE("an inner chunk that fails is named, as deep as it lies") {
  auto metadata = raw_metadata(dtype_kind::uint8, {4, 4}, {4, 4});
  metadata.codecs = {sharding({4, 2}, {sharding({2, 2}, {codec_spec{"bytes"}, crc32c_spec()})})};
  recording_store store;
  const array made = array::create(store, key_of("a"), metadata).value();
  const std::vector<std::uint8_t> data{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  made.write(box::whole({4, 4}), view_of(data, {4, 4})).value();
  const store_key chunk = key_of("a/c/0/0");
  auto stored = get(store, chunk, SIZE_MAX).value().value();
  std::vector<std::byte> bytes(bytes_view(stored).begin(), bytes_view(stored).end());
  bytes[9] ^= std::byte{1};  // the second inner chunk of the first shard within
  REQUIRE(store.put(chunk, bytes));
  const auto read = made.read(box::whole({4, 4}));
  REQUIRE_FALSE(read);
  const std::string message = to_string(read.failure());
  CAPTURE(message);
  CHECK(message.find("corrupt: array memory:a: chunk c/0/0: inner chunk [0, 0]: sharding_indexed: "
                     "inner chunk [1, 0]: crc32c: checksum mismatch") == 0);
  const auto part = made.read(box{{2, 0}, {1, 1}});  // of which only that inner chunk is read
  REQUIRE_FALSE(part);
  const std::string of_part = to_string(part.failure());
  CAPTURE(of_part);
  CHECK(of_part.find("corrupt: array memory:a: chunk c/0/0: inner chunk [0, 0]: inner chunk "
                     "[1, 0]: crc32c: checksum mismatch") == 0);
}

}}  // namespace sharding_codec_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/device/device_decoding.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>
#include <zarrpoint/codec/numcodecs/byte_codecs.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/fill_value.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include "support/array_cases.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace byte_planes_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

codec_spec shuffle_spec(json size = json()) {
  return {"numcodecs.shuffle", json::object{{"elementsize", std::move(size)}}};
}

array made(const array_metadata& metadata) {
  context how;
  how.codecs = default_codecs::with<shuffle_codec>::table();
  return array::from_metadata(memory_store(), key_of("a"), metadata, how).value();
}

array_metadata shuffled(dtype type, const dims& shape, const dims& chunk_shape) {
  array_metadata out = raw_metadata(type, shape, chunk_shape);
  out.codecs.push_back(shuffle_spec(static_cast<std::int64_t>(type.size())));
  return out;
}

std::optional<detail::byte_planes> planes_of(const array_metadata& metadata) {
  return detail::planes_of(made(metadata));
}

}  // namespace

TEST_CASE("planes of inner chunks, put together, are their elements; the padding is there, too") {
  const dims shape{7, 9};
  const dims inner{2, 4};
  const std::vector<std::int32_t> values = counting(shape);
  for (int way = 0; way < 6; ++way) {
    CAPTURE(way);
    array_metadata metadata = shuffled(dtype_kind::int32, shape, way < 3 ? inner : dims{4, 8});
    if (way % 3 == 1) metadata.codecs.push_back(zstd_spec());
    if (way % 3 == 2) metadata.codecs = {bytes_spec("big"), shuffle_spec(), crc32c_spec()};
    if (way >= 3) metadata = sharded_metadata(metadata, inner);
    const array stored = made(metadata);
    chunk_digests digests;
    const dims written{7, way < 3 ? 8 : 9};  // the last column of chunks is not stored
    stored.write(box::whole(written), view_of(values, written), {.collected = &digests}).value();
    std::vector<std::int32_t> expected(63);
    stored.read(box::whole(shape), view_of(expected, shape)).value();
    const auto planes = detail::planes_of(stored);
    REQUIRE(planes);
    CHECK(planes->chunk == inner);
    CHECK(planes->chunk_bytes() == 32);
    CHECK(planes->width == 4);
    const box chunks = planes->chunks_of(box::whole(shape));
    CHECK(chunks == box{{0, 0}, {4, 3}});
    std::vector<std::int32_t> rows(12 * 8);
    const read_options options{.expected = way < 3 ? nullptr : &digests};
    planes->source.read(planes->rows_of(chunks), view_of(rows, {4, 24}), options).value();
    const auto* const bytes = reinterpret_cast<const std::byte*>(rows.data());
    for (std::size_t i = 0; i < 12; ++i) {
      const box one = detail::byte_planes::one_of(chunks, i);
      const auto [within, at] = planes->place_of(one, box::whole(shape));
      for_each_coordinate(at.shape, [&](const dims& k) {
        const index_t element = (within.offset[0] + k[0]) * 4 + within.offset[1] + k[1];
        std::uint32_t value = 0;
        for (std::size_t b = 0; b < 4; ++b) {
          const std::size_t place = way % 3 == 2 ? 3 - b : b;
          value |= std::to_integer<std::uint32_t>(
                       bytes[i * 32 + place * 8 + static_cast<std::size_t>(element)])
                   << 8 * b;
        }
        const index_t in_array = (at.offset[0] + k[0]) * 9 + at.offset[1] + k[1];
        CHECK(static_cast<std::int32_t>(value) == expected[static_cast<std::size_t>(in_array)]);
      });
    }
  }
}

TEST_CASE("a selection is covered by its chunks, and each of them has its part of it") {
  const auto planes = planes_of(shuffled(dtype_kind::int16, {20, 300}, {8, 100}));
  REQUIRE(planes);
  const selection part(box{{5, 150}, {12, 90}});
  const box chunks = planes->chunks_of({part.offset, part.shape});
  CHECK(chunks == box{{0, 1}, {3, 2}});
  CHECK(planes->rows_of(chunks) == box{{0, 800}, {3, 1600}});
  CHECK(planes->place_of(chunks, part).second == box{{0, 0}, {12, 90}});
  CHECK(planes->place_of({{1, 1}, {1, 1}}, part) ==
        std::pair{box{{0, 50}, {8, 50}}, box{{3, 0}, {8, 50}}});
  CHECK(planes->place_of({{2, 2}, {1, 1}}, part) ==
        std::pair{box{{0, 0}, {1, 40}}, box{{11, 50}, {1, 40}}});
}

TEST_CASE("large chunks that are wanted for the most part suit a device") {
  const array large = made(shuffled(dtype_kind::int32, {64, 1024}, {16, 1024}));
  const auto suits = [&](const selection& part) { return detail::planes_suit(large, part); };
  CHECK(suits(box{{0, 0}, {64, 1024}}));
  CHECK(suits(box{{16, 0}, {11, 1024}}));
  CHECK_FALSE(suits(box{{16, 0}, {10, 1024}}));
  CHECK_FALSE(suits(selection({0, 0}, {32, 1024}, {2, 1})));
  CHECK_FALSE(suits(box{{0, 0}, {0, 1024}}));
  CHECK(detail::planes_suit(large, box{{0, 0}, {64, 1024}}, 65'536));
  CHECK_FALSE(detail::planes_suit(large, box{{0, 0}, {64, 1024}}, 65'535));
  const array small = made(shuffled(dtype_kind::int32, {64, 1024}, {15, 1024}));
  CHECK_FALSE(detail::planes_suit(small, box{{0, 0}, {60, 1024}}));
  const array plain = made(raw_metadata(dtype_kind::int32, {64, 1024}, {16, 1024}));
  CHECK_FALSE(detail::planes_suit(plain, box{{0, 0}, {64, 1024}}));
}

TEST_CASE("whatever else is stored has no planes") {
  const array_metadata good = shuffled(dtype_kind::int32, {8, 8}, {4, 4});
  CHECK(planes_of(good));
  const auto none = [](array_metadata metadata) {
    const array stored = made(metadata);
    return !detail::planes_of(stored);
  };
  CHECK(none(raw_metadata(dtype_kind::int32, {8, 8}, {4, 4})));
  CHECK(none(shuffled(dtype_kind::int32, {}, {})));
  CHECK(none(shuffled(dtype_kind::uint8, {8, 8}, {4, 4})));
  // Whole chunks would be more elements than can be counted.
  constexpr index_t most = std::numeric_limits<index_t>::max();
  CHECK(none(shuffled(dtype_kind::int16, {most}, {most / 3})));
  array_metadata other = good;
  other.fill = fill_value::of(std::int32_t{1});
  CHECK(none(other));
  other.fill = fill_value::of(std::int32_t{-1});  // all of its bytes are the same
  CHECK_FALSE(none(other));
  other = good;
  other.codecs.insert(other.codecs.begin(), transpose_spec({1, 0}));
  CHECK(none(other));
  other = good;
  std::swap(other.codecs[1], other.codecs.emplace_back(crc32c_spec()));
  CHECK(none(other));
  for (const std::int64_t size : {0, 1}) {
    other = good;
    other.codecs[1] = shuffle_spec(size);
    CHECK(none(other));
  }
  other.codecs[1] = shuffle_spec(8);  // two elements at a time
  CHECK_FALSE(none(other));
  other.codecs[1].must_understand = false;
  CHECK(none(other));
  other = good;
  other.edges = {{{{4, 1}, {3, 1}, {1, 1}}}, {{{4, 2}}}};
  CHECK(none(other));
  CHECK(none(sharded_metadata(sharded_metadata(good, {2, 2}), {4, 4})));
}

TEST_CASE("the filter of Zarr v2 is such a shuffle") {
  context how;
  how.codecs = default_codecs::with<shuffle_codec>::table();
  const memory_store store;
  const std::string document =
      R"({"zarr_format": 2, "shape": [8, 8], "chunks": [4, 4], "dtype": "<i4", "fill_value": 0,
          "order": "C", "compressor": {"id": "zstd", "level": 1},
          "filters": [{"id": "shuffle", "elementsize": 4}]})";
  store.put(key_of("a/.zarray"), as_bytes(document)).value();
  const auto planes = detail::planes_of(array::open(store, key_of("a"), how).value());
  REQUIRE(planes);
  CHECK(planes->width == 4);
  CHECK(planes->source.metadata().shape == dims{2, 32});
}

}  // namespace byte_planes_test

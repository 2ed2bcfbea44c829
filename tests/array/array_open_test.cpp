// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/zarr/chunks.hpp>
#include <zarrpoint/zarr/fill_value.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace array_open_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

void put_text(const recording_store& store, const char* key, std::string_view text) {
  const bytes_view bytes = as_bytes(text);
  store.set(key, {bytes.begin(), bytes.end()});
}
template <class T>
error refusal(const result<T>& opened) {
  REQUIRE_FALSE(opened);
  return opened.failure();
}
bool mentions(const error& failure, const std::string& text) {
  return failure.message.find(text) != std::string::npos;
}

TEST_CASE("what is created is opened") {
  recording_store store;
  auto metadata = raw_metadata(dtype_kind::float32, {3, 4}, {2, 4});
  metadata.attributes = json::object{{"unit", "m"}};
  metadata.dimension_names = dimension_names_list{"y", std::nullopt};
  CHECK(array::create(store, key_of("w"), metadata).has_value());
  CHECK(array::open(store, key_of("w")).value().metadata() == metadata);
  CHECK(array::from_metadata(store, key_of("w"), metadata).value().metadata() == metadata);

  metadata.zarr_format = 2;
  metadata.keys = {chunk_key_encoding::style::v2, '.'};
  metadata.dimension_names.reset();
  CHECK(array::create(store, key_of("v"), metadata).has_value());
  CHECK(store.has("v/.zarray"));
  CHECK(store.has("v/.zattrs"));
  CHECK(array::open(store, key_of("v")).value().metadata() == metadata);
}

TEST_CASE("an array is not created over another one") {
  recording_store store;
  const auto metadata = raw_metadata(dtype_kind::float32, {3}, {2});
  CHECK(array::create(store, key_of("w"), metadata).has_value());
  const error failure = refusal(array::create(store, key_of("w"), metadata));
  CHECK(failure.code == errc::already_exists);
  CHECK(mentions(failure, "w/zarr.json"));
  put_text(store, "old/.zarray", "{}");
  CHECK(refusal(array::create(store, key_of("old"), metadata)).code == errc::already_exists);
}

TEST_CASE("metadata that cannot be read say which document they are") {
  recording_store store;
  CHECK(refusal(array::open(store, key_of("w"))).code == errc::not_found);
  put_text(store, "w/zarr.json", "{\"zarr_format\": 3,");
  CHECK(refusal(array::open(store, key_of("w"))).code == errc::corrupt);
  CHECK(mentions(refusal(array::open(store, key_of("w"))), "memory:w/zarr.json"));
  put_text(store, "w/zarr.json", R"({"zarr_format": 3, "node_type": "group"})");
  CHECK(mentions(refusal(array::open(store, key_of("w"))), "group"));
  put_text(store, "v/.zarray", R"({"zarr_format": 2})");
  CHECK(mentions(refusal(array::open(store, key_of("v"))), "memory:v/.zarray"));
  context how;
  how.limit.metadata_bytes = 10;
  CHECK(refusal(array::open(store, key_of("w"), how)).code == errc::resource_limit);
}

std::string document(const std::string& shape, const std::string& chunks,
                     const std::string& codecs) {
  return R"({"zarr_format": 3, "node_type": "array", "data_type": "uint8", "fill_value": 0,
  "chunk_key_encoding": {"name": "default"}, "shape": )" +
         shape + R"(, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": )" +
         chunks + R"(}}, "codecs": )" + codecs + "}";
}

TEST_CASE("codecs that are not there are named") {
  recording_store store;
  put_text(store, "w/zarr.json",
           document("[4]", "[2]",
                    R"([{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 5}}])"));
  const error gzip = refusal(array::open(store, key_of("w")));
  CHECK(gzip.code == errc::unsupported);
  CHECK(mentions(gzip, "gzip.hpp"));
  CHECK(mentions(gzip, "memory:w"));
  context how;
  how.codecs = all_codecs::table();
  CHECK(array::open(store, key_of("w"), how).has_value());
}

TEST_CASE("levels that a codec does not have: read, and written to, but not created") {
  recording_store store;
  context how;
  how.codecs = all_codecs::table();
  const std::pair<const char*, const char*> cases[] = {
      {R"({"name": "zstd", "configuration": {"level": 99}})", "level 99 is not from -131072 to 22"},
      {R"({"name": "gzip", "configuration": {"level": -1}})", "level -1 is not from 0 to 9"},
      {R"({"name": "numcodecs.zlib", "configuration": {"level": -1}})", ""}};
  for (const auto& [codec, fault] : cases) {
    CAPTURE(codec);
    const std::string codecs = std::string(R"([{"name": "bytes"}, )") + codec + "]";
    put_text(store, "w/zarr.json", document("[4]", "[2]", codecs));
    const array there = array::open(store, key_of("w"), how).value();
    const std::vector<std::uint8_t> values{1, 2, 3, 4};
    REQUIRE(there.write(
        box::whole({4}),
        dense_view(reinterpret_cast<const std::byte*>(values.data()), {dtype_kind::uint8, {4}})));
    const tensor read = array::open(store, key_of("w"), how).value().read(box::whole({4})).value();
    CHECK(std::equal(values.begin(), values.end(), read.data<std::uint8_t>().begin()));
    const auto made = array::create(store, key_of("n"), there.metadata(), how);
    CHECK(made.has_value() == std::string(fault).empty());
    CHECK((store.open(key_of("n/zarr.json")).value() != nullptr) == made.has_value());
    if (!made) CHECK(mentions(made.failure(), "create array memory:n: codec"));
    if (!made) CHECK(mentions(made.failure(), fault));
  }
}

TEST_CASE("shapes beyond all memory are errors, or cost nothing") {
  recording_store store;
  const std::string bytes = R"([{"name": "bytes"}])";
  // More elements than are counted: no whole read, but parts.
  put_text(store, "a/zarr.json", document("[4611686018427387904, 4]", "[1, 1]", bytes));
  const array many = array::open(store, key_of("a")).value();
  CHECK_FALSE(many.read(box::whole(many.metadata().shape)));
  CHECK(many.read(box{{index_t{1} << 61, 1}, {1, 2}}).value().data<std::uint8_t>()[1] == 0);
  put_text(store, "a/zarr.json", document("[4, 4]", "[4611686018427387904, 4]", bytes));
  CHECK_FALSE(array::open(store, key_of("a")));
  put_text(store, "a/zarr.json", document("[4611686018427387904]", "[4611686018427387904]", bytes));
  const array vast = array::open(store, key_of("a")).value();
  // A part is read all the same.
  CHECK(vast.read(box{{index_t{1} << 61}, {4}}).value().data<std::uint8_t>()[3] == 0);
}

TEST_CASE("parts of shapes beyond all memory are written and read") {
  const index_t huge = index_t{1} << 62;
  const index_t last = INT64_MAX - 1;  // the last element of the longest axis
  const array_metadata plain = raw_metadata(dtype_kind::float64, {INT64_MAX, huge, 3}, {2, 4, 3});
  array_metadata v2 = plain;
  v2.zarr_format = 2;
  v2.keys = {chunk_key_encoding::style::v2, '.'};
  array_metadata small = raw_metadata(dtype_kind::uint8, {INT64_MAX, huge, 3}, {1, 1, 1});
  for (const array_metadata& each :
       {plain, v2, small, sharded_metadata(plain, {1, 2, 3}), sharded_metadata(plain, {2, 1, 1})}) {
    CAPTURE(each.zarr_format);
    recording_store store;
    const array made = array::create(store, key_of("a"), each).value();
    const box parts[] = {{{0, 0, 0}, {2, 3, 2}},
                         {{last - 2, huge - 5, 1}, {3, 5, 2}},
                         {{huge + 1, 7, 0}, {1, 6, 3}}};
    const std::size_t element = each.type.size();
    for (const box& part : parts) {
      std::vector<std::byte> values(static_cast<std::size_t>(element_count(part.shape).value()) *
                                    element);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::byte(1 + i % 200);
      REQUIRE(made.write(part, dense_view(values.data(), {each.type, part.shape})));
      const array opened = array::open(store, key_of("a")).value();
      const tensor read = opened.read(part).value();
      CHECK(std::equal(values.begin(), values.end(), read.view().data));
      // Every second one of them, and the fill value beside them.
      const selection every_second(part.offset, {1, (part.shape[1] + 1) / 2, 1}, {1, 2, 1});
      const tensor some = opened.read(every_second).value();
      for (index_t i = 0; i < every_second.shape[1]; ++i)
        CHECK(
            std::equal(some.view().data + static_cast<std::size_t>(i) * element,
                       some.view().data + static_cast<std::size_t>(i + 1) * element,
                       values.data() + static_cast<std::size_t>(2 * i * part.shape[2]) * element));
    }
    const tensor beside = made.read(box{{huge - 4, 100, 0}, {3, 1, 1}}).value();
    CHECK(std::all_of(beside.view().data, beside.view().data + 3 * element,
                      [](std::byte b) { return b == std::byte{}; }));
    // What is beyond the end, and what no memory holds, are errors.
    CHECK_FALSE(made.read(box{{last, 0, 0}, {2, 1, 1}}));
    CHECK_FALSE(made.read(box{{last, 0, 0}, {INT64_MAX, 1, 1}}));
    CHECK_FALSE(made.read(box::whole(each.shape)));
    CHECK_FALSE(made.read(box{{0, 0, 0}, {huge, 1, 1}}));
  }
  recording_store store;
  // One more is not an index.
  put_text(store, "w/zarr.json",
           document("[9223372036854775808]", "[1]", R"([{"name": "bytes"}])"));
  const error refused = refusal(array::open(store, key_of("w")));
  CHECK(mentions(refused, "shape"));
}

TEST_CASE("a fill value of another type is refused") {
  recording_store store;
  auto metadata = raw_metadata(dtype_kind::float32, {3}, {2});
  metadata.fill = fill_value::of(1.0);
  const error failure = refusal(array::from_metadata(store, key_of("w"), metadata));
  CHECK(failure.code == errc::invalid_argument);
  CHECK(mentions(failure, "fill value"));
}

}}  // namespace array_open_test

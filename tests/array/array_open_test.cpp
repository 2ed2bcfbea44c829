// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>
#include <zarrpoint/zarr/chunk_key.hpp>
#include <zarrpoint/zarr/fill_value.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <string>

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
  metadata.attributes = node::object{{"unit", "m"}};
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

TEST_CASE("a fill value of another type is refused") {
  recording_store store;
  auto metadata = raw_metadata(dtype_kind::float32, {3}, {2});
  metadata.fill = fill_value::of(1.0);
  const error failure = refusal(array::from_metadata(store, key_of("w"), metadata));
  CHECK(failure.code == errc::invalid_argument);
  CHECK(mentions(failure, "fill value"));
}

}}  // namespace array_open_test

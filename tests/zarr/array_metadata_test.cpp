// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/metadata.hpp>

#include <doctest/doctest.h>

#include <limits>

namespace array_metadata_test {

using namespace zarrpoint;

namespace {

array_metadata valid() {
  array_metadata out;
  out.shape = {7, 10};
  out.type = dtype_kind::float32;
  out.chunk_shape = {2, 3};
  out.fill = fill_value::zero(out.type);
  out.codecs = {{"bytes", json::object{{"endian", "little"}}}};
  return out;
}

}  // namespace

TEST_CASE("parts that fit") {
  CHECK(detail::check_array_metadata(valid()));
  CHECK(valid().spec() == tensor_spec{dtype_kind::float32, {7, 10}});
  CHECK(valid().chunk_spec() == tensor_spec{dtype_kind::float32, {2, 3}});
  array_metadata scalar = valid();
  scalar.shape = {};
  scalar.chunk_shape = {};
  CHECK(detail::check_array_metadata(scalar));
}

TEST_CASE("parts that do not") {
  constexpr index_t huge = std::numeric_limits<index_t>::max();
  const auto code_after = [](auto change) {
    array_metadata array = valid();
    change(array);
    const auto status = detail::check_array_metadata(array);
    REQUIRE_FALSE(status);
    return status.failure().code;
  };
  CHECK(code_after([](auto& a) { a.type = {}; }) == errc::corrupt);
  CHECK(code_after([](auto& a) { a.chunk_shape = {2}; }) == errc::corrupt);
  CHECK(code_after([](auto& a) { a.chunk_shape = {0, 3}; }) == errc::corrupt);
  CHECK(code_after([](auto& a) { a.chunk_shape = {2, -3}; }) == errc::corrupt);
  CHECK(code_after([](auto& a) { a.codecs.clear(); }) == errc::corrupt);
  CHECK(code_after([](auto& a) { a.dimension_names.emplace(); }) == errc::corrupt);
  CHECK(code_after([](auto& a) { a.shape = {huge, -3}; }) == errc::out_of_range);
  CHECK(code_after([](auto& a) { a.chunk_shape = {huge, 1}; }) == errc::out_of_range);
}

TEST_CASE("an array may have 2^63 elements and more, its chunks not") {
  array_metadata array = valid();
  array.shape = {std::numeric_limits<index_t>::max(), std::numeric_limits<index_t>::max()};
  CHECK(detail::check_array_metadata(array));
}

}  // namespace array_metadata_test

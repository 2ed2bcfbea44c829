// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>

#include "support/array_cases.hpp"
#include "support/recording_store.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string_view>

namespace array_state_test { namespace {

using namespace zarrpoint;
using namespace zarrpoint_test;

detail::array_state state_of(const array_metadata& metadata) {
  return {recording_store(), store_key::root(), metadata,
          array_layout::resolve(metadata, all_codecs::table(), limits{}).value(), context{}};
}

TEST_CASE("the fill value as memory holds it") {
  array_metadata metadata = raw_metadata(dtype_kind::int32, {4}, {2});
  metadata.fill = fill_value::of(std::int32_t{-2});
  const auto numbers = state_of(metadata);
  std::int32_t value = 0;
  REQUIRE(numbers.fill().size() == sizeof value);
  std::memcpy(&value, numbers.fill().data(), sizeof value);
  CHECK(value == -2);

  metadata.fill = fill_value::undefined(metadata.type);  // as Zarr v2 may have it
  const auto undefined = state_of(metadata);
  REQUIRE(undefined.fill().size() == 4);
  CHECK(undefined.fill()[3] == std::byte{0});

  metadata = raw_metadata(dtype_kind::string, {4}, {2});
  metadata.fill = fill_value::of_text("none");
  CHECK(as_text(state_of(metadata).fill()) == "none");
}

TEST_CASE("inner chunks have names and ends") {
  const auto state =
      state_of(sharded_metadata(raw_metadata(dtype_kind::int8, {5, 5}, {4, 4}), {2, 2}));
  CHECK(state.sharded());
  CHECK(state.inner_name({1, 0}) == "inner chunk [1, 0]");
  CHECK(state.valid_shape({4, 0}) == dims{1, 2});
  CHECK(state.valid_shape({2, 2}) == dims{2, 2});
}

TEST_CASE("the digest of stored bytes is their crc32c, or the one they end with") {
  const std::string_view text = "123456789\x01\x02\x03\x04";
  const auto raw = state_of(raw_metadata(dtype_kind::int8, {4}, {4}));
  CHECK(detail::payload_digest(raw.layout.chain(), as_bytes(text.substr(0, 9))) == 0xe3069283U);
  array_metadata metadata = raw_metadata(dtype_kind::int8, {4}, {4});
  metadata.codecs.push_back(crc32c_spec());
  const auto checked = state_of(metadata);
  CHECK(detail::payload_digest(checked.layout.chain(), as_bytes(text)) == 0x04030201U);
  CHECK(detail::payload_digest(checked.layout.chain(), as_bytes("abc")) == crc32c(as_bytes("abc")));
}

}}  // namespace array_state_test

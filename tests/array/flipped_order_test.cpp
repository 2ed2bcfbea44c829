// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/device/device_decoding.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/array_cases.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <vector>

namespace flipped_order_test {

using namespace zarrpoint;
using namespace zarrpoint_test;

namespace {

array made(array_metadata metadata, std::string_view order) {
  metadata.codecs.front() = bytes_spec(order);
  return array::create(memory_store(), key_of("a"), std::move(metadata)).value();
}

}  // namespace

TEST_CASE("every byte comes as it is stored, and the fill value as if it were") {
  const dims shape{5, 6};
  const std::vector<std::int32_t> values = counting(shape);
  for (const bool is_sharded : {false, true}) {
    array_metadata metadata = raw_metadata(dtype_kind::int32, shape, {4, 4});
    metadata.codecs = {bytes_spec("big"), crc32c_spec()};
    metadata.fill = fill_value::of(std::int32_t{0x01020304});
    if (is_sharded) metadata = sharded_metadata(metadata, {2, 2});
    const array stored = array::create(memory_store(), key_of("a"), metadata).value();
    stored.write(box{{0, 0}, {4, 6}}, view_of(values, {4, 6})).value();
    const std::optional<array> flipped = detail::in_flipped_order(stored);
    REQUIRE(flipped);
    std::vector<std::int32_t> straight(30);
    std::vector<std::int32_t> got(30);
    stored.read(box::whole(shape), view_of(straight, shape)).value();
    flipped->read(box::whole(shape), view_of(got, shape)).value();
    CHECK(got != straight);
    for (std::int32_t& value : got)
      value = static_cast<std::int32_t>(__builtin_bswap32(static_cast<std::uint32_t>(value)));
    CHECK(got == straight);
    CHECK(got.back() == 0x01020304);
  }
}

TEST_CASE("the order is found behind a transposition, and in shards within shards") {
  for (const std::string_view order : {"little", "big"}) {
    array_metadata metadata = raw_metadata(dtype_kind::int16, {8, 8}, {8, 8});
    metadata.codecs = {transpose_spec({1, 0}), bytes_spec(order)};
    metadata = sharded_metadata(sharded_metadata(metadata, {2, 2}), {4, 4});
    const array stored = array::create(memory_store(), key_of("a"), metadata).value();
    CHECK(detail::has_flipped_order(stored) == (order == "big"));
    CHECK(detail::in_flipped_order(stored).has_value() == (order == "big"));
  }
}

TEST_CASE("complex numbers have two parts") {
  array_metadata metadata = raw_metadata(dtype_kind::complex64, {2}, {2});
  const array stored = made(metadata, "big");
  const std::vector<std::byte> element{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                                       std::byte{5}, std::byte{6}, std::byte{7}, std::byte{8}};
  metadata.fill = fill_value::of_bytes(element);
  const auto flipped = detail::in_flipped_order(made(metadata, "big"));
  REQUIRE(flipped);
  const bytes_view fill = flipped->metadata().fill_element();
  CHECK(fill[0] == std::byte{4});
  CHECK(fill[4] == std::byte{8});
}

TEST_CASE("nothing where there is nothing to reverse, or values are worked on before") {
  CHECK_FALSE(detail::in_flipped_order(made(raw_metadata(dtype_kind::int32, {2}, {2}), "little")));
  CHECK_FALSE(detail::in_flipped_order(made(raw_metadata(dtype_kind::uint8, {2}, {2}), "big")));
  array_metadata metadata = raw_metadata(dtype_kind::float32, {2}, {2});
  metadata.codecs = {{"bitround", json::object{{"keepbits", 4}}}, bytes_spec("big")};
  context how;
  how.codecs = all_codecs::table();
  const auto rounded = array::create(memory_store(), key_of("a"), metadata, how);
  if (rounded) CHECK_FALSE(detail::in_flipped_order(*rounded));
  CHECK_FALSE(detail::declare_native(metadata.codecs));
  CHECK_FALSE(detail::makes_other_order(sharding_config::name, json()).value_or(true));
  CHECK_FALSE(detail::makes_other_order("bytes", json()).value_or(true));
  std::vector<codec_spec> fields{
      {"bytes", json::object{{"endian", "big"}, {"field_endian", json::array{"big"}}}}};
  CHECK_FALSE(detail::declare_native(fields));
}

}  // namespace flipped_order_test

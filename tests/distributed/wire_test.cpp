// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/plan/shard_table.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>

#include "support/random_rounds.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <vector>

namespace wire_test { namespace {

using namespace zarrpoint;

std::vector<shard_metadata> several_shards() {
  std::vector<shard_metadata> out;
  for (index_t i = 0; i < 4; ++i)
    out.push_back({.key = "layers/weight",
                   .type = dtype_kind::bfloat16,
                   .local_shape = {4, 300},
                   .global_shape = {48, 8, 600},
                   .global_offset = {47, 4 * (i / 2), 300 * (i % 2)},
                   .fragmentation = dims{48, 2, 2},
                   .replica = {0, i},
                   .prepended_axes = 1});
  out.push_back({.key = "odd \xc3\xa4",
                 .type = dtype::datetime(time_unit::us, 10),
                 .local_shape = {3},
                 .global_shape = {10},
                 .global_offset = {7},
                 .replica = replica_id(std::vector<index_t>{}),
                 .allow_shape_mismatch = true,
                 .range = flat_range{1, 3}});
  out.push_back({.key = "scalar",
                 .type = dtype_kind::float64,
                 .local_shape = {},
                 .global_shape = {},
                 .global_offset = {},
                 .fragmentation = dims{}});
  return out;
}

TEST_CASE("numbers, text, shapes, boxes and types come back") {
  const std::vector<index_t> indexes{0,    1,     -1,        63,        64,       -64, -65,
                                     8191, -8192, INT64_MAX, INT64_MIN, 1L << 40, 127, 128};
  const std::vector<dtype> types{
      dtype_kind::bfloat16,
      dtype{},
      dtype_kind::string,
      dtype::raw_bytes(6),
      dtype::null_terminated(3),
      dtype::utf32(5),
      dtype::datetime(time_unit::as, 25),
      dtype::timedelta(time_unit::generic),
      make_record({{"x", dtype_kind::int8},
                   {"inner", make_record({{"y", dtype::raw_bytes(3), {2, 2}}}).value()}})
          .value()};
  detail::wire_writer to;
  to.indexes(indexes);
  to.number(UINT64_MAX);
  to.flag(true);
  to.text("k\0ey");
  to.shape({});
  to.shape({3, 0, -1});
  to.part({{1, 2}, {3, 4}});
  for (const dtype& one : types) to.type(one);
  const std::size_t size = to.size();
  const std::vector<std::byte> message = std::move(to).take();
  CHECK(message.size() == size);
  detail::wire_reader from(message);
  for (const index_t one : indexes) CHECK(from.index() == one);
  CHECK(from.number() == UINT64_MAX);
  CHECK(from.flag());
  CHECK(from.text() == "k\0ey");
  CHECK(from.shape() == dims{});
  CHECK(from.shape() == dims{3, 0, -1});
  CHECK(from.part() == box{{1, 2}, {3, 4}});
  for (const dtype& one : types) CHECK(from.type() == one);
  CHECK(from.rest() == 0);
  CHECK(from.finish());
}

TEST_CASE("a reader that failed answers with nothing and says so at the end") {
  const auto read = [](std::vector<unsigned char> bytes) {
    std::vector<std::byte> out;
    for (const unsigned char one : bytes) out.push_back(static_cast<std::byte>(one));
    return out;
  };
  // Too long, beyond 64 bits, cut off.
  for (const auto& bytes : {read({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02}),
                            read({0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}),
                            read({0x80}), read({})}) {
    detail::wire_reader from(bytes);
    CHECK(from.number() == 0);
    CHECK(from.failed());
    CHECK(from.text().empty());
    CHECK(from.shape().empty());
    CHECK(from.finish().failure().code == errc::corrupt);
  }
  // More than follows: a text, a count, a rank, a flag.
  const auto lie = read({5, 1, 2});
  CHECK(detail::wire_reader(lie).bytes().empty());
  CHECK(detail::wire_reader(lie).count(2) == 0);
  CHECK(detail::wire_reader(read({33})).shape().empty());
  CHECK_FALSE(detail::wire_reader(read({2})).flag());
  detail::wire_reader left(lie);
  CHECK(left.number() == 5);
  CHECK(left.finish().failure().message.find("2 bytes follow its end") != std::string::npos);
  // Records in records without end.
  std::vector<std::byte> deep;
  for (int i = 0; i < 10000; ++i)
    for (const unsigned char one :
         {static_cast<unsigned char>(dtype_kind::record), static_cast<unsigned char>(1),
          static_cast<unsigned char>(1), static_cast<unsigned char>('a')})
      deep.push_back(static_cast<std::byte>(one));
  detail::wire_reader records(deep);
  CHECK_FALSE(records.type().valid());
  CHECK(records.failed());
}

TEST_CASE("shards of all kinds come back, and what they share is sent once") {
  const std::vector<shard_metadata> shards = several_shards();
  const std::vector<std::byte> message = detail::encode_shards(shards).value();
  CHECK(message.size() < 120);
  detail::shard_table table;
  REQUIRE(detail::decode_shards(message, 2, table));
  REQUIRE(detail::decode_shards(message, 5, table));
  REQUIRE(table.size() == 2 * shards.size());
  CHECK(table.forms().size() == 3);
  for (std::size_t i = 0; i < table.size(); ++i) {
    CHECK(table.metadata(i) == shards[i % shards.size()]);
    CHECK(table.rank(i) == (i < shards.size() ? 2 : 5));
    CHECK(table.position(i) == i % shards.size());
  }
  const std::vector<shard_metadata> none;
  detail::shard_table empty;
  REQUIRE(detail::decode_shards(detail::encode_shards(none).value(), 0, empty));
  CHECK(empty.empty());
}

TEST_CASE("what makes no sense is not sent") {
  std::vector<shard_metadata> shards = several_shards();
  shards[0].global_offset[1] = 9;
  CHECK(detail::encode_shards(shards).failure().code == errc::out_of_range);
  shards = several_shards();
  shards[0].replica = replica_id(std::vector<index_t>(65, 0));
  CHECK(detail::encode_shards(shards).failure().code == errc::invalid_argument);
}

TEST_CASE("messages that are cut, damaged or lie are refused or read as something else, no more" *
          doctest::skip(zarrpoint_test::is_about_threads)) {
  const std::vector<std::byte> message = detail::encode_shards(several_shards()).value();
  for (std::size_t size = 0; size < message.size(); ++size) {
    detail::shard_table table;
    const auto status = detail::decode_shards(bytes_view(message).first(size), 7, table);
    REQUIRE_FALSE(status);
    CHECK(status.failure().code == errc::corrupt);
    CHECK(status.failure().message.find("process 7") != std::string::npos);
  }
  std::vector<std::byte> other_version = message;
  other_version[0] = std::byte{9};
  detail::shard_table unread;
  CHECK(detail::decode_shards(other_version, 0, unread).failure().code == errc::unsupported);

  detail::shard_table idle;
  const std::uint32_t form = idle.intern({.key = "w", .type = dtype_kind::int8});
  CHECK_FALSE(detail::decode_shards(detail::encode_shards(idle).value(), 0, unread));
  REQUIRE(idle.append(0, form, std::vector<index_t>{0}));
  CHECK(detail::decode_shards(detail::encode_shards(idle).value(), 0, unread));

  std::mt19937_64 random(6);
  std::size_t refused = 0;
  for (int round = 0; round < zarrpoint_test::random_rounds(20000); ++round) {
    std::vector<std::byte> bad = message;
    for (std::size_t flips = 1 + random() % 3; flips > 0; --flips)
      bad[random() % bad.size()] ^= static_cast<std::byte>(1U << (random() % 8));
    detail::shard_table table;
    if (!detail::decode_shards(bad, 0, table)) ++refused;
    REQUIRE(table.size() <= bad.size());
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (const auto status = table.metadata(i).check(); !status)
        CHECK(!status.failure().message.empty());
    }
  }
  CHECK(refused > zarrpoint_test::random_rounds(1000U));
}

}}  // namespace wire_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/kit/lz_blocks.hpp>

#include "support/codec_conformance.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace lz_cursor_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::detail::lz_cursor;
using zp::detail::lz_status;

TEST_CASE("lz_cursor: matches repeat what was written, byte by byte") {
  random_source random(11);
  for (std::size_t distance = 1; distance <= 40; ++distance) {
    for (const std::size_t length : {0u, 1u, 3u, 8u, 15u, 16u, 17u, 31u, 33u, 64u, 100u}) {
      for (const std::size_t spare : {0u, 1u, 15u, 16u, 17u, 40u}) {
        const std::vector<std::byte> start = random_bytes(random, 40);
        std::vector<std::byte> expected = start;
        for (std::size_t i = 0; i < length; ++i)
          expected.push_back(expected[expected.size() - distance]);
        guarded_bytes out(start.size() + length + spare);
        lz_cursor cursor(start, out.bytes());
        REQUIRE(cursor.literals(40) == lz_status::ok);
        REQUIRE(cursor.match(distance, length) == lz_status::ok);
        REQUIRE(cursor.done() == 40 + length);
        REQUIRE(cursor.room() == spare);
        REQUIRE(copy_of(out.bytes().first(40 + length)) == expected);
        REQUIRE(out.intact());
      }
    }
  }
}

TEST_CASE("lz_cursor: nothing outside of either side") {
  const std::vector<std::byte> from(20, std::byte{1});
  guarded_bytes out(10);
  lz_cursor cursor(from, out.bytes());
  CHECK(cursor.match(1, 1) == lz_status::bad_distance);
  CHECK(cursor.literals(21) == lz_status::truncated);
  CHECK(cursor.literals(11) == lz_status::no_room);
  CHECK(cursor.literals(4) == lz_status::ok);
  CHECK(cursor.left() == 16);
  CHECK(cursor.match(0, 1) == lz_status::bad_distance);
  CHECK(cursor.match(5, 1) == lz_status::bad_distance);
  CHECK(cursor.match(4, 7) == lz_status::no_room);
  CHECK(cursor.match(4, SIZE_MAX) == lz_status::no_room);
  CHECK(cursor.match(4, 6) == lz_status::ok);
  CHECK(cursor.room() == 0);
  CHECK(out.intact());
  CHECK(cursor.finish(lz_status::ok).value() == 10);
  CHECK(cursor.finish(lz_status::no_room).failure().code == zp::errc::out_of_range);
  CHECK(cursor.finish(lz_status::no_room).failure().message.find("10 bytes") != std::string::npos);
  CHECK(cursor.finish(lz_status::truncated).failure().code == zp::errc::corrupt);
  CHECK(cursor.finish(lz_status::bad_distance).failure().code == zp::errc::corrupt);
}

TEST_CASE("lz_cursor: lengths in bytes of 255") {
  std::vector<std::byte> from(3, std::byte{255});
  from.push_back(std::byte{7});
  lz_cursor cursor(from, {});
  std::size_t length = 15;
  CHECK(cursor.extend(length));
  CHECK(length == 15 + 3 * 255 + 7);
  CHECK(cursor.left() == 0);
  from.pop_back();
  lz_cursor cut(from, {});
  CHECK_FALSE(cut.extend(length));
}

}  // namespace lz_cursor_test

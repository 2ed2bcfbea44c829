// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/device/packed_rows.hpp>

#include "support/random_layout.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace packed_rows_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::detail::packed_rows;

namespace {

/// What the copies make of the bytes at `first`.
std::vector<std::byte> pack(const zp::detail::packed_rows& rows, const std::byte* first) {
  std::vector<std::byte> out(rows.bytes);
  std::size_t copied = 0;
  const auto copy = [&](zp::index_t device, zp::index_t host) -> zp::result<void> {
    for (std::size_t i = 0; i < rows.rows.count; ++i) {
      const std::size_t from = static_cast<std::size_t>(device) + i * rows.rows.device_pitch;
      const std::size_t to = static_cast<std::size_t>(host) + i * rows.rows.host_pitch;
      REQUIRE(from + rows.rows.width <= rows.cover);
      REQUIRE(to + rows.rows.width <= rows.bytes);
      std::memcpy(out.data() + to, first + rows.low + from, rows.rows.width);
      copied += rows.rows.width;
    }
    return {};
  };
  REQUIRE(rows.for_each_copy(copy));
  CHECK(copied == rows.bytes);
  return out;
}

}  // namespace

TEST_CASE("packed_rows: every element of any layout arrives, and nothing beside it") {
  random_source random(5);
  for (int n = 0; n < 3000; ++n) {
    const zp::dims shape = random_shape(random, 5, 5);
    const std::size_t element = std::size_t{1} << pick(random, 4);
    const layout from = random_layout(random, shape, element, true);
    CAPTURE(to_string(shape));
    CAPTURE(to_string(from.strides));
    const std::vector<std::byte> memory = random_bytes(random, from.size);
    const zp::detail::packed_rows rows = zp::detail::packed_rows::of(shape, from.strides, element);
    const std::vector<std::byte> packed = pack(rows, memory.data() + from.first);
    CHECK(rows.bytes <= rows.cover);
    CHECK((rows.rows.count == 1 || rows.rows.device_pitch >= rows.rows.width));
    CHECK((rows.rows.count == 1 || rows.rows.host_pitch >= rows.rows.width));
    std::size_t elements = 0;
    for_each_coordinate(shape, [&](const zp::dims& at) {
      const std::size_t here = static_cast<std::size_t>(rows.first + offset_of(at, rows.strides));
      const std::byte* const there = memory.data() + from.first + offset_of(at, from.strides);
      REQUIRE(here + element <= packed.size());
      REQUIRE(std::memcmp(packed.data() + here, there, element) == 0);
      ++elements;
    });
    CHECK(rows.bytes <= elements * element);
  }
}

TEST_CASE("packed_rows: as few copies as the memory allows") {
  const auto of = [](zp::dims shape, zp::dims strides) {
    return zp::detail::packed_rows::of(shape, strides, 4);
  };
  CHECK(of({4, 5, 6}, {120, 24, 4}).is_run());
  CHECK(of({4, 5, 6}, {4, 16, 80}).is_run());                // column-major
  CHECK(of({4, 5, 6}, {-120, 24, -4}).is_run());             // reversed
  CHECK(of({4, 7, 6}, {24, 0, 4}).is_run());                 // repeated
  CHECK(of({1, 5, 1}, {999, 4, -3}).is_run());               // strides of extents of 1 mean nothing
  CHECK(of({}, {}).is_run());                                // one element
  CHECK(of({3, 0, 2}, {8, 8, 4}).copies() == 0);             // none
  const zp::detail::packed_rows rows = of({8, 6}, {40, 4});  // rows with gaps
  CHECK(rows.copies() == 1);
  CHECK(rows.rows.width == 24);
  CHECK(rows.rows.count == 8);
  CHECK(rows.rows.device_pitch == 40);
  CHECK(of({4, 2, 6}, {80, 40, 4}).copies() == 1);  // two axes of rows, one after the other
  const zp::detail::packed_rows blocks = of({3, 50, 6}, {4000, 40, 4});
  CHECK(blocks.copies() == 3);
  CHECK(blocks.rows.count == 50);
  CHECK(of({50, 3, 6}, {4000, 40, 4}).copies() == 3);  // the longer axis is that of the rows
  CHECK(of({10, 4}, {4, 4}).copies() == 10);           // windows that overlap: rows may not
}

}  // namespace packed_rows_test

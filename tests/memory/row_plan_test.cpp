// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/row_plan.hpp>

#include <doctest/doctest.h>

#include <random>
#include <vector>

using namespace zarrpoint;

namespace {

/// The device offsets of all bytes in the order of a dense array, element by element.
std::vector<index_t> naive(const dims& shape, const dims& strides, std::size_t size) {
  std::vector<index_t> out;
  index_t count = 1;
  for (const index_t extent : shape) count *= extent;
  for (index_t n = 0; n < count; ++n) {
    index_t offset = 0;
    index_t rest = n;
    for (std::size_t i = shape.rank(); i-- > 0; rest /= shape[i])
      offset += rest % shape[i] * strides[i];
    for (std::size_t b = 0; b < size; ++b) out.push_back(offset + static_cast<index_t>(b));
  }
  return out;
}

/// The same by the plan; -1 where no block came.
std::vector<index_t> planned(const row_plan& plan, std::size_t bytes) {
  std::vector<index_t> out(bytes, -1);
  index_t blocks = 0;
  const auto all = plan.for_each([&](index_t on_device, index_t on_host) -> result<void> {
    ++blocks;
    for (std::size_t row = 0; row < plan.rows.count; ++row) {
      for (std::size_t b = 0; b < plan.rows.width; ++b) {
        const std::size_t at = static_cast<std::size_t>(on_host) + row * plan.rows.host_pitch + b;
        REQUIRE(at < bytes);
        out[at] = on_device + static_cast<index_t>(row * plan.rows.device_pitch + b);
      }
    }
    return {};
  });
  CHECK(all);
  CHECK(blocks == plan.blocks());
  return out;
}

}  // namespace

TEST_CASE("row_plan: dense memory is one row, a box of a matrix one block of rows") {
  const row_plan dense = plan_rows({4, 5, 6}, {120, 24, 4}, 4);
  CHECK(dense.blocks() == 1);
  CHECK(dense.rows.count == 1);
  CHECK(dense.rows.width == 480);
  const row_plan part = plan_rows({3, 1, 7}, {100, 5, 2}, 2);
  CHECK(part.blocks() == 1);
  CHECK(part.rows.count == 3);
  CHECK(part.rows.width == 14);
  CHECK(part.rows.device_pitch == 100);
  CHECK(part.rows.host_pitch == 14);
  CHECK(plan_rows({10}, {8}, 4).rows.count == 10);               // a column
  CHECK(plan_rows({2, 3, 10}, {600, 200, 4}, 4).blocks() == 1);  // rows of two planes
  CHECK(plan_rows({2, 3, 10}, {900, 200, 4}, 4).blocks() == 2);
  CHECK(plan_rows({10}, {-4}, 4).blocks() == 10);  // backwards: one by one
  CHECK(plan_rows({3, 2}, {0, 4}, 4).blocks() == 3);
  CHECK(plan_rows({}, {}, 8).block_bytes() == 8);
  CHECK(plan_rows({1, 1}, {3, 9}, 8).blocks() == 1);
  CHECK(plan_rows({3, 0, 2}, {3, 9, 1}, 8).blocks() == 0);
}

TEST_CASE("row_plan: stops at the first error") {
  int calls = 0;
  const auto stopped = plan_rows({5}, {-4}, 4).for_each([&](index_t, index_t) -> result<void> {
    if (++calls == 3) return error{errc::device, "no more"};
    return {};
  });
  CHECK(stopped.failure().code == errc::device);
  CHECK(calls == 3);
}

TEST_CASE("row_plan: every layout is covered, byte by byte") {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<index_t>(random() % n); };
    const std::size_t size = std::size_t{1} << below(4);
    dims shape;
    dims strides;
    for (index_t rank = below(5); rank > 0; --rank) {
      shape.push_back(below(12) == 0 ? 0 : 1 + below(4));
      strides.push_back(0);
    }
    // Dense in some order with gaps, or anything.
    index_t step = static_cast<index_t>(size);
    for (std::size_t i = shape.rank(); i-- > 0;) {
      strides[i] = below(8) == 0 ? (below(80) - 40) * static_cast<index_t>(size) : step;
      step *= shape[i] + (below(3) == 0 ? below(3) : 0);
    }
    CAPTURE(seed);
    const auto wanted = naive(shape, strides, size);
    CHECK(planned(plan_rows(shape, strides, size), wanted.size()) == wanted);
  }
}

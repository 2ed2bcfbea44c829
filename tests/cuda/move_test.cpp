// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// clang-format off: before the kernels
#include "cuda/simulated_kernels.hpp"
// clang-format on

#include <zarrpoint/cuda/kernels/move.cuh>

#include "support/random_rounds.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace move_test {

namespace zp = zarrpoint;
namespace kernels = zarrpoint::cuda::detail;
using namespace zarrpoint_test;

namespace {

void naive_move(const zp::strided_move& move) {
  for_each_coordinate(move.shape, [&](const zp::dims& at) {
    std::memcpy(move.to + offset_of(at, move.to_strides),
                move.from + offset_of(at, move.from_strides), move.element_size);
  });
}

/// A random move, and twice the memory that it writes to.
struct case_of_move {
  std::vector<std::byte> source;
  std::vector<std::byte> expected;
  std::vector<std::byte> actual;
  zp::strided_move to_expected;
  zp::strided_move to_actual;
};

case_of_move random_move(random_source& random, bool is_wide = false) {
  constexpr std::size_t sizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 100};
  const std::size_t element = sizes[pick(random, is_wide ? 6 : std::size(sizes))];
  const bool is_deep = pick(random, 8) == 0;
  const auto extent = [&] { return static_cast<zp::index_t>(10 + pick(random, 30)); };
  const zp::dims shape = is_wide   ? zp::dims{extent(), extent(), 1 + extent() / 30}
                         : is_deep ? random_shape(random, 10, 3)
                                   : random_shape(random, 4, 12);
  layout from = random_layout(random, shape, element, true);
  const layout to = random_layout(random, shape, element);
  if (is_wide && pick(random, 2) == 0) {  // the first axis is the innermost, now and then backwards
    from = {zp::dims(3, 0), 0, element};
    for (std::size_t i = 0; i < 3; ++i) {
      from.strides[i] = static_cast<zp::index_t>(from.size);
      from.size *= static_cast<std::size_t>(shape[i]);
    }
    if (pick(random, 3) == 0) {
      from.first = element * static_cast<std::size_t>(shape[0] - 1);
      from.strides[0] = -from.strides[0];
    }
  }
  const std::size_t from_shift = pick(random, 3) == 0 ? pick(random, 17) : 0;
  const std::size_t to_shift = pick(random, 3) == 0 ? pick(random, 17) : 0;
  case_of_move out;
  out.source = random_bytes(random, from.size + from_shift);
  out.expected = random_bytes(random, to.size + to_shift);
  out.actual = out.expected;
  out.to_expected = {out.expected.data() + to_shift + to.first,
                     out.source.data() + from_shift + from.first,
                     element,
                     shape,
                     to.strides,
                     from.strides};
  out.to_actual = out.to_expected;
  out.to_actual.to = out.actual.data() + to_shift + to.first;
  return out;
}

}  // namespace

TEST_CASE("move kernel: random boxes, strides, sizes and alignments against one by one") {
  random_source random(21);
  simulated = {};
  for (int n = 0; n < 2000; ++n) {
    CAPTURE(n);
    case_of_move one = random_move(random);
    naive_move(one.to_expected);
    REQUIRE(kernels::move(nullptr, one.to_actual) == cudaSuccess);
    REQUIRE(one.expected == one.actual);
  }
  CHECK(simulated.launches > 500);
  CHECK(simulated.copies > 100);
}

TEST_CASE("move kernel: a move in parts is the whole") {
  random_source random(22);
  simulated = {};
  for (int n = 0; n < random_rounds(1000); ++n) {
    CAPTURE(n);
    case_of_move one = random_move(random);
    if (zp::element_count(one.to_actual.shape).value() == 0) continue;
    naive_move(one.to_expected);
    const kernels::unit_move whole = kernels::plan_move(one.to_actual);
    const std::uint64_t most = 1 + pick(random, 200);
    std::uint64_t units = 0;
    const bool complete = kernels::for_each_part(whole, most, [&](const auto& part) {
      CHECK(part.count() >= 1);
      CHECK(part.count() <= most);
      units += part.count();
      return kernels::move_part(nullptr, part) == cudaSuccess;
    });
    CHECK(complete);
    CHECK(units == whole.count());
    REQUIRE(one.expected == one.actual);
    int seen = 0;
    const bool ended = kernels::for_each_part(whole, most, [&](const auto&) { return ++seen < 2; });
    CHECK(ended == (whole.count() <= most && seen == 1));
  }
}

TEST_CASE("move kernel: transposed moves, in squares and what is left beside them") {
  random_source random(23);
  simulated = {};
  int transposed = 0;
  int pieces = 0;
  for (int n = 0; n < 600; ++n) {
    CAPTURE(n);
    case_of_move one = random_move(random, true);
    naive_move(one.to_expected);
    const kernels::unit_move whole = kernels::plan_move(one.to_actual);
    transposed += kernels::transposed_axis(whole) != 0 ? 1 : 0;
    std::uint64_t units = 0;
    CHECK(kernels::for_each_tiling(whole, [&](const kernels::unit_move& part) {
      units += part.count();
      ++pieces;
      CHECK(part.count() > 0);
      return true;
    }));
    CHECK(units == whole.count());
    int calls = 0;
    CHECK_FALSE(kernels::for_each_tiling(whole, [&](const auto&) { return ++calls > 3; }));
    CHECK(calls == 1);
    REQUIRE(kernels::move(nullptr, one.to_actual) == cudaSuccess);
    REQUIRE(one.expected == one.actual);
  }
  CHECK(transposed > 20);
  CHECK(pieces > 600 + transposed);
}

TEST_CASE("move kernel: units are as wide as addresses and strides allow") {
  const auto plan = [](std::uintptr_t to, std::uintptr_t from, const zp::strided_move& move) {
    zp::strided_move at = move;
    at.to = reinterpret_cast<std::byte*>(to);
    at.from = reinterpret_cast<const std::byte*>(from);
    return kernels::plan_move(at);
  };
  zp::strided_move rows{nullptr, nullptr, 2, {6, 24}, {100 * 16, 2}, {48, 2}};
  CHECK(plan(4096, 8192, rows).unit == 16);
  CHECK(plan(4096, 8192, rows).rank == 2);
  CHECK(plan(4096, 8200, rows).unit == 8);
  CHECK(plan(4098, 8192, rows).unit == 2);
  rows.to_strides = {48, 2};
  CHECK(plan(4096, 8192, rows).is_run());
  CHECK_FALSE(plan(4096, 8192, {nullptr, nullptr, 4, {6, 5}, {20, 4}, {4, 24}}).is_run());
  // A transposed matrix of 2 bytes: squares of 16, and what is left of 40 x 50.
  zp::strided_move turned{nullptr, nullptr, 2, {40, 50}, {100, 2}, {2, 80}};
  const kernels::unit_move squares = plan(4096, 65536, turned);
  CHECK(kernels::transposed_axis(squares) == 1);
  std::vector<std::uint64_t> counts;
  kernels::for_each_tiling(squares, [&](const kernels::unit_move& part) {
    counts.push_back(part.count());
    return true;
  });
  CHECK(counts == std::vector<std::uint64_t>{32 * 48, 40 * 2, 8 * 48});
  turned.from_strides = {100, 2};
  CHECK(kernels::transposed_axis(plan(4096, 65536, turned)) == 0);
  // Steps back are multiples, too.
  CHECK(plan(4096, 8192, {nullptr, nullptr, 4, {6, 4}, {16, 4}, {-32, 4}}).unit == 16);
  CHECK(plan(4096, 8192, {nullptr, nullptr, 4, {6, 4}, {16, 4}, {-24, 4}}).unit == 8);
  // One element is a run of its own bytes.
  CHECK(plan(4096, 8192, {nullptr, nullptr, 48, {}, {}, {}}).is_run());
}

TEST_CASE("move kernel: more units than a kernel counts") {
  // 2^33 rows of 3 units, which no memory has: only the parts are looked at.
  constexpr std::uintptr_t base = std::uintptr_t{1} << 46;
  kernels::unit_move whole;
  whole.to = reinterpret_cast<std::byte*>(base);
  whole.from = reinterpret_cast<const std::byte*>(base);
  whole.unit = 16;
  whole.rank = 3;
  whole.axes[0] = {3, 16, 16};
  whole.axes[1] = {std::uint64_t{1} << 33, 64, 48};
  whole.axes[2] = {5, std::int64_t{1} << 40, std::int64_t{-1} << 41};
  std::uint64_t units = 0;
  std::int64_t last_to = -1;
  std::uint64_t parts = 0;
  CHECK(kernels::for_each_part(whole, kernels::max_units, [&](const kernels::unit_move& part) {
    CHECK(part.count() <= kernels::max_units);
    const auto to = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(part.to) - base);
    CHECK(to > last_to);
    const std::uint64_t row = units / 3;
    CHECK(to == static_cast<std::int64_t>((row >> 33 << 40) + row % (std::uint64_t{1} << 33) * 64));
    last_to = to;
    units += part.count();
    ++parts;
    return true;
  }));
  CHECK(units == 15 * (std::uint64_t{1} << 33));
  CHECK(parts == 5 * 13);
  // One axis alone.
  whole.rank = 1;
  whole.axes[0] = {(std::uint64_t{1} << 31) + 5, 32, 16};
  units = parts = 0;
  CHECK(kernels::for_each_part(whole, kernels::max_units, [&](const kernels::unit_move& part) {
    units += part.count();
    return ++parts < 10;
  }));
  CHECK(units == (std::uint64_t{1} << 31) + 5);
  CHECK(parts == 2);
}

TEST_CASE("move kernel: offsets beyond 4 GiB, at the last units of a kernel") {
  // Bytes 3 apart on both sides, read backwards: 2^31 - 1 units of one byte in 6 GiB.
  constexpr std::uint64_t count = kernels::max_units;
  const sparse_memory to(3 * count);
  const sparse_memory from(3 * count);
  kernels::unit_move part;
  part.to = to.data();
  part.from = from.data() + 3 * (count - 1);
  part.rank = 1;
  part.axes[0] = {count, 3, -3};
  const kernels::move_job job = kernels::make_move_job(part);
  const kernels::thread_place place{kernels::max_blocks - 1, kernels::max_blocks, 254};
  for (std::uint64_t i = place.first(); i < count; i += place.step())
    from.data()[3 * (count - 1 - i)] = static_cast<std::byte>(1 + i / place.step() % 200);
  kernels::move_units<1>(job, place);
  std::uint64_t last = 0;
  for (std::uint64_t i = place.first(); i < count; i += place.step()) {
    REQUIRE(to.data()[3 * i] == static_cast<std::byte>(1 + i / place.step() % 200));
    last = i;
  }
  CHECK(last == count - 1);
}

TEST_CASE("move kernel: requests that are none, and errors of launches") {
  simulated = {};
  std::byte at[16]{};
  const std::byte from[16]{};
  CHECK(kernels::move(nullptr, {at, from, 4, {0, 3}, {12, 4}, {12, 4}}) == cudaSuccess);
  CHECK(kernels::move(nullptr, {at, from, 0, {2}, {4}, {4}}) == cudaSuccess);
  CHECK(simulated.launches + simulated.copies == 0);
  CHECK(kernels::move(nullptr, {at, from, 4, {2}, {4, 4}, {4}}) == cudaErrorInvalidValue);
  CHECK(kernels::move(nullptr, {at, from, 4, {-1}, {4}, {4}}) == cudaErrorInvalidValue);
  const zp::index_t huge = std::numeric_limits<zp::index_t>::max();
  CHECK(kernels::move(nullptr, {at, from, 4, {huge, 4}, {4, 4}, {4, 4}}) == cudaErrorInvalidValue);
  simulated.next_error = cudaErrorLaunchFailure;
  CHECK(kernels::move(nullptr, {at, from, 4, {2}, {8}, {4}}) == cudaErrorLaunchFailure);
  CHECK(kernels::move(nullptr, {at, from, 4, {2}, {4}, {4}}) == cudaErrorLaunchFailure);
  CHECK(simulated.remembered == cudaSuccess);
  CHECK(simulated.launches + simulated.copies == 0);
}

}  // namespace move_test

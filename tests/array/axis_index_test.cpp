// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/grid/axis_index.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace axis_index_test {

using namespace zarrpoint;

namespace {

std::vector<index_t> all(const axis_index& of) {
  std::vector<index_t> out;
  for (index_t i = 0; i < of.size(); ++i) out.push_back(of[i]);
  return out;
}

/// What Python's `range(*slice.indices(length))` says, worked out one by one.
std::vector<index_t> by_definition(const std::vector<index_t>& of, const slice& part) {
  const auto length = static_cast<index_t>(of.size());
  const auto bound = [&](std::optional<index_t> given, index_t otherwise) {
    if (!given) return otherwise;
    index_t at = *given;
    if (at < 0) at += length;
    if (at < 0) return part.step < 0 ? index_t{-1} : index_t{0};
    if (at >= length) return part.step < 0 ? length - 1 : length;
    return at;
  };
  std::vector<index_t> out;
  const index_t start = bound(part.start, part.step < 0 ? length - 1 : 0);
  const index_t stop = bound(part.stop, part.step < 0 ? -1 : length);
  for (index_t i = start; part.step < 0 ? i > stop : i < stop; i += part.step)
    out.push_back(of[static_cast<std::size_t>(i)]);
  return out;
}

}  // namespace

TEST_CASE("slices as Python has them, of ranges, of slices and of lists") {
  std::vector<std::optional<index_t>> ends{std::nullopt};
  for (index_t i = -8; i <= 8; ++i) ends.emplace_back(i);
  const axis_index bases[] = {axis_index(0), axis_index(1), axis_index(6),
                              axis_index(13).sliced({11, 0, -3}).value(),
                              axis_index(9).taken(std::vector<index_t>{4, -1, 0, 4, 2}).value()};
  for (const axis_index& base : bases) {
    for (const auto& start : ends) {
      for (const auto& stop : ends) {
        for (const index_t step : {1, 2, 3, 7, -1, -2, -7}) {
          const slice part{start, stop, step};
          REQUIRE(all(base.sliced(part).value()) == by_definition(all(base), part));
        }
      }
    }
  }
}

TEST_CASE("extremes and mistakes") {
  const axis_index base(5);
  CHECK(all(base.sliced({{}, {}, INT64_MAX}).value()) == std::vector<index_t>{0});
  CHECK(all(base.sliced({{}, {}, INT64_MIN}).value()) == std::vector<index_t>{4});
  CHECK(all(base.sliced({INT64_MIN, INT64_MAX, 2}).value()) == std::vector<index_t>{0, 2, 4});
  CHECK(base.sliced({{}, {}, 0}).failure().code == errc::invalid_argument);
  CHECK(base.taken(std::vector<index_t>{5}).failure().code == errc::out_of_range);
  CHECK(base.taken(std::vector<index_t>{-6}).failure().code == errc::out_of_range);
  CHECK(base.taken(std::vector<index_t>{}).value().size() == 0);
  CHECK(axis_index(INT64_MAX).sliced({-2, {}, 1}).value()[1] == INT64_MAX - 1);
}

}  // namespace axis_index_test

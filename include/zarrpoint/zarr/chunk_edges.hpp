// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/document.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

/// `count` chunks of one extent, one after another.
struct chunk_run {
  index_t extent = 1;
  index_t count = 1;

  friend bool operator==(const chunk_run&, const chunk_run&) = default;
};

/// The extents of the chunks along one axis of a rectilinear grid (zarr-extensions, chunk grid
/// "rectilinear").
struct axis_edges {
  std::vector<chunk_run> runs;
  /// The one run goes on for as long as the axis does: a bare integer in the metadata.
  bool repeats = false;

  /// One chunk of the axis.
  struct chunk {
    index_t index = 0;
    index_t start = 0;
    index_t extent = 0;
  };

  /// The chunk that holds coordinate `at`, which is within the axis.
  chunk find(index_t at) const {
    chunk out;
    for (const chunk_run& run : runs) {
      const index_t inside = (at - out.start) / run.extent;
      if (inside < run.count || repeats)
        return {out.index + inside, out.start + inside * run.extent, run.extent};
      out.index += run.count;
      out.start += run.count * run.extent;
    }
    return out;
  }

  index_t largest() const {
    index_t out = 1;
    for (const chunk_run& run : runs) out = std::max(out, run.extent);
    return out;
  }

  /// Whether extents are 1 or more and together reach the end of an axis of `length`. Errors:
  /// `corrupt`, `out_of_range`.
  result<void> check(index_t length) const {
    if (repeats && runs.size() != 1) return error{errc::corrupt, "more than one repeated extent"};
    index_t end = 0;
    for (const chunk_run& run : runs) {
      if (run.extent < 1 || run.count < 1)
        return error{errc::corrupt, "chunk extents and their numbers must be 1 or more"};
      ZARRPOINT_TRY(bytes, checked_mul(run.extent, run.count));
      ZARRPOINT_TRY(sum, checked_add(end, bytes));
      end = sum;
    }
    if (end < length && !repeats)
      return error{errc::corrupt, "chunk extents sum to " + std::to_string(end) +
                                      ", and the axis has " + std::to_string(length)};
    return {};
  }

  friend bool operator==(const axis_edges&, const axis_edges&) = default;
};

namespace detail {

/// `4`, or a list of extents and of `[extent, count]`.
inline result<axis_edges> parse_axis_edges(const node& value) {
  axis_edges out;
  if (const auto extent = integral_int64(value)) {
    out.repeats = true;
    out.runs.push_back({*extent, 1});
    return out;
  }
  const node::array* list = value.if_array();
  if (list == nullptr) return corrupt("must be an integer or a list");
  for (const node& one : *list) {
    chunk_run run;
    if (const node::array* pair = one.if_array()) {
      const auto extent = pair->size() == 2 ? integral_int64((*pair)[0]) : std::nullopt;
      const auto count = pair->size() == 2 ? integral_int64((*pair)[1]) : std::nullopt;
      if (!extent || !count) return corrupt("a run must be an extent and a count");
      run = {*extent, *count};
    } else {
      const auto extent = integral_int64(one);
      if (!extent) return corrupt("must hold integers and runs");
      run = {*extent, 1};
    }
    if (!out.runs.empty() && out.runs.back().extent == run.extent) {
      ZARRPOINT_TRY(count, checked_add(out.runs.back().count, run.count));
      out.runs.back().count = count;
    } else {
      out.runs.push_back(run);
    }
  }
  return out;
}

inline node axis_edges_to_node(const axis_edges& edges) {
  if (edges.repeats) return node(edges.runs.front().extent);
  node::array out;
  for (const chunk_run& run : edges.runs) {
    if (run.count == 1) {
      out.emplace_back(run.extent);
    } else {
      out.push_back(node::array{node(run.extent), node(run.count)});
    }
  }
  return node(std::move(out));
}

}  // namespace detail

}  // namespace zarrpoint::inline v0

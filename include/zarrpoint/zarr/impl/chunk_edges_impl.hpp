// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/chunk_edges.hpp>
#include <zarrpoint/zarr/document.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE axis_edges::axis_edges() : lists_(detail::make_counted<const lists>()) {}

ZARRPOINT_INLINE axis_edges::axis_edges(std::vector<chunk_run> runs, bool repeats)
    : repeats_(repeats) {
  std::vector<chunk> firsts;
  firsts.reserve(runs.size());
  chunk at;
  for (const chunk_run& run : runs) {
    at.extent = run.extent;
    firsts.push_back(at);
    // What overflows is refused by `check`, before anything is looked for.
    at.index = add(at.index, run.count);
    at.start = add(at.start, multiply(run.extent, run.count));
  }
  end_ = at.start;
  count_ = at.index;
  lists_ = detail::make_counted<const lists>(lists{std::move(runs), std::move(firsts)});
}

ZARRPOINT_INLINE axis_edges::chunk axis_edges::find(index_t at) const {
  const auto after = std::upper_bound(lists_->firsts.begin(), lists_->firsts.end(), at,
                                      [](index_t x, const chunk& one) { return x < one.start; });
  const chunk& first = *(after - 1);
  const index_t inside = (at - first.start) / first.extent;
  return {first.index + inside, first.start + inside * first.extent, first.extent};
}

ZARRPOINT_INLINE axis_edges::chunk axis_edges::at(index_t index) const {
  if (!repeats_ && index >= count_) return {index, end_, 0};
  const auto after = std::upper_bound(lists_->firsts.begin(), lists_->firsts.end(), index,
                                      [](index_t x, const chunk& one) { return x < one.index; });
  const chunk& first = *(after - 1);
  return {index, first.start + (index - first.index) * first.extent, first.extent};
}

ZARRPOINT_INLINE index_t axis_edges::largest() const {
  index_t out = 1;
  for (const chunk_run& run : lists_->runs) out = std::max(out, run.extent);
  return out;
}

ZARRPOINT_INLINE result<void> axis_edges::check(index_t length) const {
  if (lists_->runs.empty()) return error{errc::corrupt, "no chunk extents"};
  if (repeats_ && lists_->runs.size() != 1)
    return error{errc::corrupt, "more than one repeated extent"};
  index_t sum = 0;
  for (const chunk_run& run : lists_->runs) {
    if (run.extent < 1 || run.count < 1)
      return error{errc::corrupt, "chunk extents and their numbers must be 1 or more"};
    ZARRPOINT_TRY(extent, checked_mul(run.extent, run.count));
    ZARRPOINT_TRY(end, checked_add(sum, extent));
    sum = end;
  }
  if (sum < length && !repeats_)
    return error{errc::corrupt, "chunk extents sum to " + std::to_string(sum) +
                                    "; the axis has length " + std::to_string(length)};
  return {};
}

ZARRPOINT_INLINE index_t axis_edges::add(index_t a, index_t b) {
  index_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? INT64_MAX : out;
}

ZARRPOINT_INLINE index_t axis_edges::multiply(index_t a, index_t b) {
  index_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? INT64_MAX : out;
}

namespace detail {

ZARRPOINT_INLINE result<axis_edges> parse_axis_edges(const node& value) {
  if (const auto extent = integral_int64(value)) return axis_edges({{*extent, 1}}, true);
  const node::array* list = value.if_array();
  if (list == nullptr) return corrupt("must be an integer or a list");
  std::vector<chunk_run> runs;
  runs.reserve(list->size());
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
    if (!runs.empty() && runs.back().extent == run.extent) {
      ZARRPOINT_TRY(count, checked_add(runs.back().count, run.count));
      runs.back().count = count;
    } else {
      runs.push_back(run);
    }
  }
  return axis_edges(std::move(runs));
}

ZARRPOINT_INLINE node axis_edges_to_node(const axis_edges& edges) {
  if (edges.repeats()) return node(edges.runs().front().extent);
  node::array out;
  for (const chunk_run& run : edges.runs()) {
    if (run.count == 1) {
      out.emplace_back(run.extent);
    } else {
      out.push_back(node::array{node(run.extent), node(run.count)});
    }
  }
  return node(std::move(out));
}

}  // namespace detail

}}  // namespace zarrpoint::v0

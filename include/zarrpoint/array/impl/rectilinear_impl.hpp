// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/read/read_operation.hpp>
#include <zarrpoint/array/rectilinear.hpp>
#include <zarrpoint/array/write/write_operation.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/exec/parallel_for.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE std::vector<edge_part> edge_parts(const axis_edges& edges, const selection& part,
                                                   std::size_t axis) {
  std::vector<edge_part> out;
  const index_t step = part.step[axis];
  for (index_t i = 0; i < part.shape[axis];) {
    const index_t element = part.offset[axis] + i * step;
    const axis_edges::chunk chunk = edges.find(element);
    const index_t inside = element - chunk.start;
    const index_t count = std::min((chunk.extent - inside - 1) / step + 1, part.shape[axis] - i);
    out.push_back({chunk, inside, i, count});
    i += count;
  }
  return out;
}

ZARRPOINT_INLINE std::uint64_t most_edge_parts(const axis_edges& edges, const selection& part,
                                               std::size_t axis) {
  if (part.shape[axis] == 0) return 0;
  const index_t last = part.offset[axis] + (part.shape[axis] - 1) * part.step[axis];
  const index_t chunks = edges.find(last).index - edges.find(part.offset[axis]).index + 1;
  return static_cast<std::uint64_t>(std::min(chunks, part.shape[axis]));
}

ZARRPOINT_INLINE rectilinear_array::rectilinear_array(const array_state& of, const context& how,
                                                      const selection& part)
    : of_(of), how_(how), part_(part), alone_(of_one_worker(how)) {}

ZARRPOINT_INLINE result<void> rectilinear_array::find_axes() {
  // Of an empty selection the other axes may say as many chunks as they like.
  if (box::whole(part_.shape).empty()) return {};
  for (std::size_t d = 0; d < part_.rank(); ++d)
    ZARRPOINT_CHECK(
        check_chunk_count(most_edge_parts(of_.metadata.edges[d], part_, d), how_.limit));
  for (std::size_t d = 0; d < part_.rank(); ++d)
    axes_.push_back(edge_parts(of_.metadata.edges[d], part_, d));
  return {};
}

ZARRPOINT_INLINE result<void> rectilinear_array::read(const mutable_host_view& into,
                                                      const read_options& options,
                                                      progress_meter& meter) {
  read_account own(*alone_.scratch);
  read_account& account = account_ != nullptr ? *account_ : own;
  return for_each_chunk([&](const array_state& chunk, const selection& within, const box& at) {
    const mutable_host_view to = subview(into, at);
    read_operation operation(chunk, alone_, to, options);
    operation.count_in(account);
    return operation.run(within, meter);
  });
}

ZARRPOINT_INLINE result<void> rectilinear_array::write(const host_view& from,
                                                       const write_options& options,
                                                       progress_meter& meter) {
  return write_parts([&](const box& at) { return subview(from, at); }, options, meter);
}

ZARRPOINT_INLINE result<void> rectilinear_array::write(element_source& from,
                                                       const write_options& options,
                                                       progress_meter& meter) {
  return write_parts([&](const box& at) { return source_box(from, at); }, options, meter);
}

ZARRPOINT_INLINE result<array_state> rectilinear_array::state_of(const dims& index,
                                                                 const dims& extents,
                                                                 const dims& shape) {
  ZARRPOINT_TRY(described, describe(extents, shape));
  array_state out{of_.store, of_.key, std::move(described)};
  out.only_key = of_.metadata.keys.key(index);
  out.outer = &of_;
  return out;
}

ZARRPOINT_INLINE result<std::shared_ptr<const array_description>> rectilinear_array::describe(
    const dims& extents, const dims& shape) {
  {
    const std::lock_guard lock(mutex_);
    for (const described& one : described_)
      if (one.extents == extents && one.shape == shape) return one.of;
  }
  array_metadata metadata;
  metadata.zarr_format = of_.metadata.zarr_format;
  metadata.type = of_.metadata.type;
  metadata.fill = of_.metadata.fill;
  metadata.codecs = of_.metadata.codecs;
  metadata.shape = shape;
  metadata.chunk_shape = extents;
  ZARRPOINT_TRY(layout, array_layout::resolve(metadata, how_.codecs, how_.limit));
  auto made = detail::make_counted<const array_description>(
      array_description{std::move(metadata), std::move(layout), alone_});
  const std::lock_guard lock(mutex_);
  // Grids of very many shapes are few; what is kept stays bounded all the same.
  if (described_.size() >= 64) described_.clear();
  described_.push_back({extents, shape, made});
  return made;
}

}}}  // namespace zarrpoint::v0::detail

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
#include <zarrpoint/exec/parallel_for.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
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

ZARRPOINT_INLINE rectilinear_array::rectilinear_array(const array_state& of, const context& how,
                                                      const selection& part)
    : of_(of), how_(how), part_(part), alone_(of_one_worker(how)) {
  // Of an empty selection the other axes may say as many chunks as they like.
  if (box::whole(part.shape).empty()) return;
  for (std::size_t d = 0; d < part.rank(); ++d)
    axes_.push_back(edge_parts(of.metadata.edges[d], part, d));
}

ZARRPOINT_INLINE result<void> rectilinear_array::read(const mutable_host_view& into,
                                                      const read_options& options,
                                                      progress_meter& meter) {
  return for_each_chunk([&](const array_state& chunk, const selection& within, const box& at) {
    const mutable_host_view to = subview(into, at);
    read_operation operation(chunk, alone_, to, options);
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
  array_metadata metadata;
  metadata.zarr_format = of_.metadata.zarr_format;
  metadata.type = of_.metadata.type;
  metadata.fill = of_.metadata.fill;
  metadata.codecs = of_.metadata.codecs;
  metadata.shape = shape;
  metadata.chunk_shape = extents;
  ZARRPOINT_TRY(layout, layout_of(metadata));
  array_state out{of_.store, of_.key, std::move(metadata), layout, alone_};
  out.only_key = of_.metadata.keys.key(index);
  return out;
}

ZARRPOINT_INLINE result<array_layout> rectilinear_array::layout_of(const array_metadata& metadata) {
  const std::vector<index_t> name = [&] {
    std::vector<index_t> out(metadata.shape.begin(), metadata.shape.end());
    out.insert(out.end(), metadata.chunk_shape.begin(), metadata.chunk_shape.end());
    return out;
  }();
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = layouts_.find(name); found != layouts_.end()) return found->second;
  }
  ZARRPOINT_TRY(made, array_layout::resolve(metadata, how_.codecs, how_.limit));
  const std::lock_guard lock(mutex_);
  // Grids of very many shapes are few; what is kept stays bounded all the same.
  if (layouts_.size() >= 64) layouts_.clear();
  layouts_.emplace(name, made);
  return std::move(made);
}

}}}  // namespace zarrpoint::v0::detail

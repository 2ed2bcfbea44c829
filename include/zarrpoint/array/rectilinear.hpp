// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_state.hpp>
#include <zarrpoint/array/options.hpp>
#include <zarrpoint/array/read_operation.hpp>
#include <zarrpoint/array/write_operation.hpp>
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

namespace zarrpoint::inline v0::detail {

/// The part of a selection that lies in one chunk of an axis.
struct edge_part {
  axis_edges::chunk chunk;
  index_t first = 0;  ///< of the selected elements in it, counted from the start of the chunk
  index_t at = 0;     ///< the same one, counted in the selection
  index_t count = 0;
};

/// The chunks of an axis that hold elements of a selection, in order.
inline std::vector<edge_part> edge_parts(const axis_edges& edges, const selection& part,
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

/// An array on a rectilinear grid: each of its chunks is read and written as an array of its own,
/// of one chunk, so that nothing else need know that chunks may differ in shape.
class rectilinear_array {
 public:
  rectilinear_array(const array_state& of, const context& how, const selection& part)
      : of_(of), how_(how), part_(part), alone_(of_one_worker(how)) {
    // Of an empty selection the other axes may say as many chunks as they like.
    if (box::whole(part.shape).empty()) return;
    for (std::size_t d = 0; d < part.rank(); ++d)
      axes_.push_back(edge_parts(of.metadata.edges[d], part, d));
  }

  result<void> read(const mutable_host_view& into, const read_options& options,
                    progress_meter& meter) {
    return for_each_chunk([&](const array_state& chunk, const selection& within, const box& at) {
      const mutable_host_view to = subview(into, at);
      read_operation operation(chunk, alone_, to, options);
      return operation.run(within, meter);
    });
  }

  result<void> write(const host_view& from, const write_options& options, progress_meter& meter) {
    return write_parts([&](const box& at) { return subview(from, at); }, options, meter);
  }
  result<void> write(element_source& from, const write_options& options, progress_meter& meter) {
    return write_parts([&](const box& at) { return source_box(from, at); }, options, meter);
  }

 private:
  /// `part_of(box)`: the elements of a chunk.
  template <class F>
  result<void> write_parts(const F& part_of, const write_options& options, progress_meter& meter) {
    std::mutex merging;
    return for_each_chunk(
        [&](const array_state& chunk, const selection& within, const box& at) -> result<void> {
          chunk_digests digests;
          write_options own = options;
          if (options.collected != nullptr) own.collected = &digests;
          auto source = part_of(at);
          write_operation operation(chunk, alone_, source, own);
          ZARRPOINT_CHECK(operation.run(within, meter));
          const std::lock_guard lock(merging);
          if (options.collected != nullptr) options.collected->merge(digests);
          return {};
        });
  }

  template <class F>
  result<void> for_each_chunk(const F& f) {
    if (axes_.empty() && part_.rank() != 0) return {};
    std::size_t count = 1;
    for (const std::vector<edge_part>& axis : axes_) {
      ZARRPOINT_TRY(product, checked_mul(count, axis.size()));
      count = product;
    }
    return parallel_for(how_.executor, count,
                        [&](std::size_t i) -> result<void> {
                          const std::size_t rank = axes_.size();
                          dims index(rank, 0);
                          dims extents(rank, 0);
                          dims shape(rank, 0);
                          selection within(dims(rank, 0), dims(rank, 0), part_.step);
                          box at(dims(rank, 0), dims(rank, 0));
                          for (std::size_t d = rank; d-- > 0;) {
                            const edge_part& one = axes_[d][i % axes_[d].size()];
                            i /= axes_[d].size();
                            index[d] = one.chunk.index;
                            extents[d] = one.chunk.extent;
                            shape[d] =
                                std::min(one.chunk.extent, of_.metadata.shape[d] - one.chunk.start);
                            within.offset[d] = one.first;
                            within.shape[d] = at.shape[d] = one.count;
                            at.offset[d] = one.at;
                          }
                          ZARRPOINT_TRY(chunk, state_of(index, extents, shape));
                          return f(chunk, within, at);
                        },
                        {.stop = how_.stop});
  }

  result<array_state> state_of(const dims& index, const dims& extents, const dims& shape) {
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

  /// Chunks of one shape share what their codecs make of it.
  result<array_layout> layout_of(const array_metadata& metadata) {
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

  const array_state& of_;
  const context& how_;
  const selection& part_;
  context alone_;
  std::vector<std::vector<edge_part>> axes_;
  std::mutex mutex_;
  std::map<std::vector<index_t>, array_layout> layouts_;
};

}  // namespace zarrpoint::inline v0::detail

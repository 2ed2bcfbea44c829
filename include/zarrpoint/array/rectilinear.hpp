// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/read/read_operation.hpp>
#include <zarrpoint/array/write/write_operation.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/exec/parallel_for.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The part of a selection that lies in one chunk of an axis.
struct edge_part {
  axis_edges::chunk chunk;
  index_t first = 0;  ///< of the selected elements in it, counted from the start of the chunk
  index_t at = 0;     ///< the same one, counted in the selection
  index_t count = 0;
};

/// As many chunks of an axis as hold elements of a selection, or more.
std::uint64_t most_edge_parts(const axis_edges& edges, const selection& part, std::size_t axis);

/// The chunks of an axis that hold elements of a selection, in order.
std::vector<edge_part> edge_parts(const axis_edges& edges, const selection& part, std::size_t axis);

/// An array on a rectilinear grid. Each of its chunks is read and written as an array of its own,
/// of one chunk, so that nothing else need know that chunks may differ in shape.
class rectilinear_array {
 public:
  rectilinear_array(const array_state& of, const context& how, const selection& part);

  /// Reads count in an account of the context's scratch memory, which outlives this.
  void count_in(read_account& shared) noexcept { account_ = &shared; }

  result<void> read(const mutable_host_view& into, const read_options& options,
                    progress_meter& meter);

  result<void> write(const host_view& from, const write_options& options, progress_meter& meter);
  result<void> write(element_source& from, const write_options& options, progress_meter& meter);

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
        },
        std::is_convertible_v<std::invoke_result_t<const F&, const box&>, host_view>);
  }

  /// `again`: whether `f` may be called twice for a chunk. A source gives its elements once.
  template <class F>
  result<void> for_each_chunk(const F& f, bool again = true) {
    ZARRPOINT_CHECK(find_axes());
    if (axes_.empty() && part_.rank() != 0) return {};
    std::size_t count = 1;
    for (const std::vector<edge_part>& axis : axes_) {
      ZARRPOINT_TRY(product, checked_mul(count, axis.size()));
      count = product;
    }
    ZARRPOINT_CHECK(check_chunk_count(count, how_.limit));
    memory_bound_for items(how_.executor, count, {.stop = how_.stop});
    return items.run(
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
            shape[d] = std::min(one.chunk.extent, of_.metadata.shape[d] - one.chunk.start);
            within.offset[d] = one.first;
            within.shape[d] = at.shape[d] = one.count;
            at.offset[d] = one.at;
          }
          ZARRPOINT_TRY(chunk, state_of(index, extents, shape));
          return f(chunk, within, at);
        },
        [this, again](std::size_t refused) {
          alone_.scratch->drop_idle();
          return again ? std::optional(refused) : std::nullopt;
        });
  }

  /// Errors: `resource_limit`.
  result<void> find_axes();

  result<array_state> state_of(const dims& index, const dims& extents, const dims& shape);

  /// Chunks of one shape share their metadata, and what their codecs make of it.
  result<std::shared_ptr<const array_description>> describe(const dims& extents, const dims& shape);

  struct described {
    dims extents, shape;
    std::shared_ptr<const array_description> of;
  };

  const array_state& of_;
  const context& how_;
  const selection& part_;
  context alone_;
  std::vector<std::vector<edge_part>> axes_;
  std::mutex mutex_;
  read_account* account_ = nullptr;
  std::vector<described> described_;
};

}}}  // namespace zarrpoint::v0::detail

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_class.hpp>
#include <zarrpoint/array/grid/axis_index.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <cstddef>
#include <vector>

// Scattered elements of an array, chunk by chunk: each chunk that holds some of them is decoded
// once, whatever their order.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// A selected coordinate of an axis, and which of the selected ones it is.
struct picked_coordinate {
  index_t coordinate;
  index_t at;
};

/// The selected coordinates of an axis that lie in one chunk.
struct axis_group {
  index_t low = 0, high = 0;  ///< the least and the largest
  std::vector<picked_coordinate> members;
};

/// The chunk of an axis that a coordinate lies in: an inner chunk, or with `whole_objects` a
/// stored one.
index_t chunk_along(const array& of, std::size_t axis, index_t at, bool whole_objects);

std::vector<axis_group> group_axis(const array& of, std::size_t axis, const axis_index& index,
                                   bool whole_objects);

void copy_element(std::byte* to, const std::byte* from, const dtype& type);

/// The elements of `groups`, one of each axis, in a box and in the memory of a caller.
class group_copy {
 public:
  group_copy(const std::vector<std::vector<axis_group>>& axes, std::size_t number);

  /// The box around them.
  box bounds() const;
  /// Whether they are every element of the box, each once.
  bool fill_bounds() const;

  /// Calls `f(offset in the box, offset in memory)` for each element. `memory` are strides of the
  /// axes of the array.
  template <class F>
  void for_each(const dims& in_box, const dims& memory, const F& f) const {
    walk(
        0, 0, 0,
        [&](std::size_t d, const picked_coordinate& one, index_t& a, index_t& b) {
          a += (one.coordinate - groups_[d]->low) * in_box[d];
          b += one.at * memory[d];
        },
        f);
  }

 private:
  template <class Move, class F>
  void walk(std::size_t d, index_t in_box, index_t memory, const Move& move, const F& f) const {
    if (d == groups_.size()) return f(in_box, memory);
    for (const picked_coordinate& one : groups_[d]->members) {
      index_t a = in_box;
      index_t b = memory;
      move(d, one, a, b);
      walk(d + 1, a, b, move, f);
    }
  }

  std::vector<const axis_group*> groups_;
};

/// Reads a box to memory of the scratch pool that `options.how` has.
result<tensor> read_scratch(const array& of, const box& part, const read_options& options);

/// Reads the elements that `indices` select to `into`, whose axes are those of the array.
result<void> gather(const array& of, const std::vector<axis_index>& indices,
                    const mutable_host_view& into, const read_options& options);

/// Writes `from`, whose axes are those of the array, to the elements that `indices` select. Of an
/// element that is selected twice one of the values is kept.
result<void> scatter(const array& to, const std::vector<axis_index>& indices, const host_view& from,
                     const write_options& options);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/array/impl/gather_impl.hpp>
#endif

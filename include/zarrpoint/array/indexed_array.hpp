// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/grid/axis_index.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/value_transfer.hpp>
#include <zarrpoint/exec/parallel_for.hpp>

#include <initializer_list>
#include <span>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// Scattered elements of an array, chunk by chunk: each chunk that holds some of them is decoded
// once, whatever their order.

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

}  // namespace detail

/// Some of an array's elements, in an order of one's own: what NumPy calls slicing with any step,
/// orthogonal ("outer") selection by lists and masks, and transposition. Nothing is read until
/// `read`; each call gives a new one, which selects from what the one before it selected.
///
///     auto last_rows = indexed_array(a).sliced(0, {-8, {}, 1});        // a[-8:]
///     auto picked = last_rows.value().taken(1, {5, 3, 3});             // [..., [5, 3, 3]]
///     tensor values = picked.value().read().value();
class indexed_array {
 public:
  /// All of `of`.
  explicit indexed_array(array of);

  const array& base() const noexcept { return array_; }
  dims shape() const;
  tensor_spec spec() const { return {array_.metadata().type, shape()}; }
  /// The coordinates of the array that axis `axis` selects.
  const axis_index& index(std::size_t axis) const { return indices_[kept_[axis]]; }

  /// A range of one axis. Errors: `invalid_argument` for no such axis, or a step of 0.
  result<indexed_array> sliced(std::size_t axis, const slice& part) const;
  /// The elements of one axis at these positions, in their order; any of them more than once.
  /// Errors: `invalid_argument`, `out_of_range`.
  result<indexed_array> taken(std::size_t axis, std::span<const index_t> positions) const;
  result<indexed_array> taken(std::size_t axis, std::initializer_list<index_t> positions) const;
  /// The elements of one axis where `mask` is true. Errors: `invalid_argument`, `shape_mismatch`.
  result<indexed_array> masked(std::size_t axis, const std::vector<bool>& mask) const;
  /// What lies at `position` of one axis, without that axis. Errors: `invalid_argument`,
  /// `out_of_range`.
  result<indexed_array> at(std::size_t axis, index_t position) const;
  /// The axes in another order: axis `i` of the result is axis `order[i]`. Errors:
  /// `invalid_argument` for what is not a permutation.
  result<indexed_array> transposed(const dims& order) const;

  /// Reads to memory of any strides, of `spec()`. Each chunk that holds a selected element is
  /// decoded once. Errors: those of `array::read`.
  result<void> read(const mutable_host_view& into, const read_options& options = {}) const;
  /// Reads to a value of any type on the host that `array::read` fills.
  template <class T>
    requires detail::own_type<T, mutable_host_view, read_options> result<void> read(
        T&& into, const read_options& options = {})
  const {
    return detail::fill_on_host(into, spec(),
                                [&](const mutable_host_view& view) { return read(view, options); });
  }
  /// Reads to a new tensor, whose memory counts against the budget `limits::memory`.
  result<tensor> read(const read_options& options = {}) const;

  /// Writes memory of `spec()` to the selected elements. Of an element that is selected more than
  /// once one of the values is kept. Errors: those of `array::write`.
  result<void> write(const host_view& from, const write_options& options = {}) const;
  /// The same of a value of any type on the host that `array::write` takes.
  template <class T>
    requires detail::own_type<T, host_view, element_source> result<void> write(
        const T& from, const write_options& options = {})
  const {
    ZARRPOINT_TRY(view, detail::view_on_host(from, shape()));
    return write(view, options);
  }

 private:
  result<void> check_axis(std::size_t axis) const;
  result<void> check_memory(const tensor_spec& memory, bool cast) const;
  indexed_array with(std::size_t axis, axis_index index) const;
  bool is_even() const;

  /// Memory of the selection's axes as memory of the array's: those that are gone have one element.
  template <class View>
  View of_all_axes(const View& view) const {
    View out = view;
    out.shape = dims(indices_.size(), 1);
    out.strides = dims(indices_.size(), 0);
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      out.shape[kept_[i]] = view.shape[i];
      out.strides[kept_[i]] = view.strides[i];
    }
    return out;
  }

  /// As the array layer takes it: axes that run backwards are turned round in memory.
  template <class View>
  selection even_selection(View& memory) const {
    const std::size_t rank = indices_.size();
    selection part(dims(rank, 0), dims(rank, 0), dims(rank, 1));
    for (std::size_t d = 0; d < rank; ++d) {
      const axis_index& one = indices_[d];
      part.shape[d] = one.size();
      if (one.size() == 0) continue;
      part.offset[d] = one[0];
      if (one.size() == 1) continue;
      part.step[d] = one.step();
      if (one.step() > 0) continue;
      part.offset[d] = one[one.size() - 1];
      part.step[d] = -one.step();
      memory.data += (one.size() - 1) * memory.strides[d];
      memory.strides[d] = -memory.strides[d];
    }
    return part;
  }

  result<void> cast(const mutable_host_view& into, read_options options) const;

  array array_;
  std::vector<axis_index> indices_;  // of each axis of the array
  std::vector<std::size_t> kept_;    // the array's axes that are axes of this, in its order
};

/// Reads the elements at `points`, coordinates of `of`, to the one axis of `into`. Each chunk that
/// holds some is decoded once. Errors: `out_of_range`, and those of `array::read`.
result<void> read_points(const array& of, std::span<const dims> points,
                         const mutable_host_view& into, const read_options& options = {});

/// The same to a value of any type on the host that `array::read` fills.
template <class T>
  requires detail::own_type<T, mutable_host_view, read_options> result<void> read_points(
      const array& of, std::span<const dims> points, T&& into, const read_options& options = {}) {
    const tensor_spec picked{of.spec().type, {static_cast<index_t>(points.size())}};
    return detail::fill_on_host(into, picked, [&](const mutable_host_view& view) {
      return read_points(of, points, view, options);
    });
  }

/// The elements of `of` where `mask`, a bool of the array's shape, is true, in row-major order, as
/// a tensor of one axis. Errors: `shape_mismatch`, `dtype_mismatch`, and those of `read_points`.
result<tensor> read_masked(const array& of, const host_view& mask,
                           const read_options& options = {});

}}  // namespace zarrpoint::v0

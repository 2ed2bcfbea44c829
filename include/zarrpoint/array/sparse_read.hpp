// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/rectilinear.hpp>
#include <zarrpoint/core/sort.hpp>

#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The objects along one axis that hold elements of a selection, in order, of either kind of grid.
class object_axis {
 public:
  object_axis(const array_state& of, const selection& part, std::size_t axis);

  std::size_t size() const noexcept;
  /// The place of object `j` in the grid.
  index_t coordinate(std::size_t j) const;
  /// Which object this is, if it is one of them.
  std::optional<std::size_t> find(index_t coordinate) const;
  /// The selected elements `[low, high)` in object `j`.
  std::pair<index_t, index_t> elements(std::size_t j) const;

 private:
  plan_axis regular_;
  std::vector<edge_part> edges_;  // empty on a regular grid
};

/// A read of an array that may have fewer objects than its grid: a few bytes of metadata can state
/// more of them than anybody can look for. Where it meets many small objects it reads some, then
/// twice as many, and so on. When half of those were missing, it lists what is stored, reads that,
/// and fills what lies between, run by run. So it asks the store about as often as there is
/// something to read. An array whose objects are found, or are not small, is never listed.
class sparse_read {
 public:
  sparse_read(const array_state& of, const context& how, const mutable_host_view& into,
              const read_options& options);

  /// Whether a read may meet many objects that are missing, as far as can be told at a glance.
  static bool suits(const array_state& of, const selection& part, const read_options& options);

  result<void> run(const selection& part, progress_meter& meter);

  /// A call that meets fewer objects, or larger parts of them, looks for each: that costs about as
  /// much as to fill its elements.
  static constexpr std::size_t few_objects = 256;
  static constexpr std::size_t small_part = 4096;
  static constexpr std::size_t first_batch = 64;

 private:
  /// Objects `begin` to `end`, in row-major order.
  struct run_of_objects {
    std::size_t begin, end;
  };

  /// False when there are few, or large ones.
  result<bool> find_axes(const selection& part);
  result<void> read_all(const selection& part, const mutable_host_view& into);

  /// Reads the objects in boxes, as few as make a run of them.
  result<void> read_run(const run_of_objects& run);
  result<void> fill_run(const run_of_objects& run);
  template <class F>
  result<void> for_each_box(run_of_objects run, const F& f) const;

  /// Reads what is stored behind object `first`, and fills the rest.
  result<void> read_listed(std::size_t first);
  /// The stored objects from `first` on.
  result<std::vector<run_of_objects>> list_runs(std::size_t first);
  /// Appends the stored objects beneath `folder`, whose keys have `depth` segments.
  result<void> list_folder(const std::string& folder, std::size_t depth,
                           std::vector<numbered_place>& found);
  std::optional<std::size_t> number_of(const dims& coordinates) const;

  const array_state& of_;
  context how_;
  const mutable_host_view& into_;
  const read_options& options_;
  const selection* part_ = nullptr;
  progress_meter* meter_ = nullptr;
  read_account account_;
  std::vector<object_axis> axes_;
  std::vector<std::size_t> tail_;  // objects of the axes behind each
  std::size_t size_ = 1;
  std::size_t listed_ = 0;  // entries of the store
};

}}}  // namespace zarrpoint::v0::detail

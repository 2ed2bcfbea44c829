// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/plan/shard_table.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/zarr/chunks.hpp>

namespace zarrpoint { inline namespace v0 {

/// How a global tensor is cut into cells, each of which is one stored object: a regular grid, or
/// with `edges` a rectilinear one. No cell straddles shards of two processes.
struct write_grid {
  dims shape;                       ///< of the tensor
  dims cell_shape;                  ///< of the largest cells; no extent is 0
  std::vector<axis_edges> edges{};  ///< one for each axis, or none: all cells have `cell_shape`

  index_t cells_along(std::size_t axis) const;
  /// How many cells there are. Errors: `out_of_range`.
  result<index_t> cells() const;
  /// Where in the grid the cell of that number is, counted in row-major order: what its object is
  /// named by. It is below `cells()`.
  dims place(index_t index) const;
  /// Which elements the cell of that number has.
  box cell(index_t index) const;
  /// Whether it is a grid of that shape. Errors: `corrupt`, `out_of_range`.
  result<void> check() const;

  friend bool operator==(const write_grid&, const write_grid&) = default;
};

namespace detail {

/// Where elements of a cell come from: which of its shards which process sends, and for a flat
/// piece which elements of the shard it has.
struct cell_source {
  int rank = 0;
  std::uint32_t shard = 0;
  flat_range range{};

  friend bool operator==(const cell_source&, const cell_source&) = default;
};

}  // namespace detail

/// A cell and who writes it: the process of its only source, or for flat pieces that of the first,
/// to which the others send theirs. Of a cell that `join_cells` made the sources are boxes. One
/// that `split_pieces` made is a piece, its only source.
struct planned_cell {
  index_t index = 0;
  std::int32_t writer = 0;
  std::uint32_t first_source = 0;
  std::uint32_t sources = 0;

  friend bool operator==(const planned_cell&, const planned_cell&) = default;
};

/// A global tensor and its cells.
struct planned_tensor {
  std::string key;
  dtype type;
  write_grid grid;
  std::size_t prepended_axes = 0;
  bool is_flat = false;  ///< whether the sources are flat pieces of shards
  std::uint32_t first_cell = 0;
  std::uint32_t cells = 0;

  friend bool operator==(const planned_tensor&, const planned_tensor&) = default;
};

namespace detail {

/// What all processes write, or what one of them has to do with. A cell is there once, or once for
/// each of its pieces, so that no two processes ever write one object.
struct save_plan {
  std::vector<planned_tensor> tensors{};  ///< in the order of their keys
  std::vector<planned_cell> cells{};      ///< those of a tensor in row-major order, and pieces
  std::vector<cell_source> sources{};     ///< the flat pieces of a shard in their order

  std::span<const planned_cell> cells_of(const planned_tensor& tensor) const {
    return std::span(cells).subspan(tensor.first_cell, tensor.cells);
  }
  std::span<const cell_source> sources_of(const planned_cell& cell) const {
    return std::span(sources).subspan(cell.first_source, cell.sources);
  }
  friend bool operator==(const save_plan&, const save_plan&) = default;
};

/// Makes of each cell that is a shard in flat pieces one for each of them, which its own process
/// writes: for formats that store pieces.
void split_pieces(save_plan& plan);

/// Makes one cell of each tensor, for formats that store tensors whole. Of the processes that have
/// some of it, the one writes it that was given the fewest bytes, and the others send theirs.
/// Errors: `unsupported` for a tensor of several shards in flat pieces.
result<void> join_cells(save_plan& plan);

/// The part of each of `ranks` processes. It has the tensors, the cells that it writes with all
/// their sources, and the cells for which it sends something with that only. Errors:
/// `invalid_argument` for a process that is not below `ranks`.
result<std::vector<save_plan>> split_plan(const save_plan& plan, int ranks);

/// A plan, or the part of a process, as a message.
std::vector<std::byte> encode_plan(const save_plan& plan);

/// The plan of a message. Errors: `corrupt`, `out_of_range`, `unsupported`.
result<save_plan> decode_plan(bytes_view message);

/// What a plan may take.
struct plan_limits {
  /// Cells of all tensors together. Uneven shards may ask for many: a rectilinear grid has a cell
  /// wherever two boundaries cross.
  std::uint32_t max_cells = std::uint32_t{1} << 26;
};

/// Plans a save: for each key of the table, in order, the grid of cells and who writes each of
/// them. `chosen` says which shards are stored: `main_shards`, or one holder of each by
/// `distribute`; those without elements are left out. No cell is planned twice, whatever the
/// shards are. O(n log n) for n shards and cells.
///
/// A regular grid's cells are the shards. Shards of an irregular one are cut at the greatest common
/// divisor of all boundaries along each axis, unless that makes more than four cells for a shard.
/// Then they are cut at every boundary. A shard of several cells is written by its process; one in
/// flat pieces by that of the first. Errors: `invalid_argument` where shards disagree or overlap
/// (see `validate_sharding`, which names all of it), `resource_limit`.
result<save_plan> plan_save(const shard_table& table, std::span<const std::uint32_t> chosen,
                            const plan_limits& limits = {});

/// Among which processes the work is spread.
struct distribution {
  /// The group of each process; empty: all are one group. Each group is looked at by itself.
  std::vector<int> group_of{};
  /// Also the shards whose main replica is in another group, after all others: for a load, in which
  /// each group reads what it needs. For a save each shard is the business of one group.
  bool from_other_groups = false;
};

/// Spreads the shards over the processes that hold them, main replica or not. Gives for each shard
/// the number in the table of the holder that stores or reads it, in the order of groups, keys and
/// offsets. A shard is there once in each group that it concerns. The result is the same on every
/// process. Shards that the fewest hold come first, then those of most bytes, then by key, offset
/// and flat range. Each goes to the holder that has been given the fewest bytes, the lowest of
/// several. O(n log n) for n entries. Errors: `invalid_argument` for a process without a group.
result<std::vector<std::uint32_t>> distribute(const shard_table& shards,
                                              const distribution& how = {});

}  // namespace detail

}}  // namespace zarrpoint::v0

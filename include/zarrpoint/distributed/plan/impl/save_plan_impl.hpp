// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/distributed/plan/save_plan.hpp>
#include <zarrpoint/distributed/plan/wire.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>
#include <zarrpoint/zarr/chunk_edges.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE index_t write_grid::cells_along(std::size_t axis) const {
  return edges.empty() ? ceil_div(shape[axis], cell_shape[axis]) : edges[axis].count();
}

ZARRPOINT_INLINE result<index_t> write_grid::cells() const {
  dims counts;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) counts.push_back(cells_along(axis));
  return element_count(counts);
}

ZARRPOINT_INLINE dims write_grid::place(index_t index) const {
  dims out(shape.rank(), 0);
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    const index_t count = cells_along(axis);
    out[axis] = index % count;
    index /= count;
  }
  return out;
}

ZARRPOINT_INLINE box write_grid::cell(index_t index) const {
  box out{place(index), dims(shape.rank(), 0)};
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const index_t at = out.offset[axis];
    const auto one = edges.empty() ? axis_edges::chunk{at, at * cell_shape[axis], cell_shape[axis]}
                                   : edges[axis].at(at);
    out.offset[axis] = one.start;
    out.shape[axis] = std::min(one.extent, shape[axis] - one.start);
  }
  return out;
}

namespace detail {

ZARRPOINT_INLINE std::span<const planned_cell> save_plan::cells_of(
    const planned_tensor& tensor) const {
  return std::span(cells).subspan(tensor.first_cell, tensor.cells);
}

ZARRPOINT_INLINE std::span<const cell_source> save_plan::sources_of(
    const planned_cell& cell) const {
  return std::span(sources).subspan(cell.first_source, cell.sources);
}

}  // namespace detail

ZARRPOINT_INLINE result<void> write_grid::check() const {
  if (cell_shape.rank() != shape.rank() || (!edges.empty() && edges.size() != shape.rank()))
    return error{errc::corrupt, "a grid's cells " + to_string(cell_shape) +
                                    " must have the same rank as shape " + to_string(shape)};
  ZARRPOINT_CHECK(element_count(shape));
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (cell_shape[axis] < 1)
      return error{errc::corrupt, "cells of shape " + to_string(cell_shape)};
    if (edges.empty()) continue;
    ZARRPOINT_CHECK(edges[axis].check(shape[axis]));
    if (edges[axis].repeats() || edges[axis].end() != shape[axis])
      return error{errc::corrupt, "the cells do not cover the tensor exactly"};
  }
  return cells().transform([](index_t) {});
}

namespace detail {

ZARRPOINT_INLINE void split_pieces(save_plan& plan) {
  std::vector<planned_cell> cells;
  cells.reserve(plan.cells.size());
  for (planned_tensor& tensor : plan.tensors) {
    const auto first = static_cast<std::uint32_t>(cells.size());
    for (const planned_cell& cell : plan.cells_of(tensor)) {
      const auto sources = plan.sources_of(cell);
      // Of a shard that is several cells the pieces have elements of each.
      const bool is_shard = tensor.is_flat && !sources.empty() &&
                            element_count(tensor.grid.cell(cell.index).shape).value_or(-1) ==
                                sources.back().range.stop;
      if (!is_shard) {
        cells.push_back(cell);
        continue;
      }
      std::uint32_t at = cell.first_source;
      for (const cell_source& one : sources) cells.push_back({cell.index, one.rank, at++, 1});
    }
    tensor.first_cell = first;
    tensor.cells = static_cast<std::uint32_t>(cells.size()) - first;
  }
  plan.cells = std::move(cells);
}

ZARRPOINT_INLINE result<std::vector<save_plan>> split_plan(const save_plan& plan, int ranks) {
  std::vector<save_plan> out(static_cast<std::size_t>(std::max(ranks, 0)));
  std::vector<std::size_t> seen(out.size(), SIZE_MAX);  // the last cell that a process was given
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    const planned_tensor& tensor = plan.tensors[t];
    for (std::uint32_t c = 0; c < tensor.cells; ++c) {
      const std::size_t number = tensor.first_cell + c;
      const planned_cell& cell = plan.cells[number];
      const auto sources = plan.sources_of(cell);
      const auto give = [&](int rank, std::span<const cell_source> parts) -> result<void> {
        if (rank < 0 || rank >= ranks)
          return error{errc::invalid_argument, "the plan names process " + std::to_string(rank) +
                                                   "; there are " + std::to_string(ranks) +
                                                   " processes"};
        save_plan& part = out[static_cast<std::size_t>(rank)];
        if (part.tensors.empty() || part.tensors.back().key != tensor.key) {
          part.tensors.push_back(tensor);
          part.tensors.back().first_cell = static_cast<std::uint32_t>(part.cells.size());
          part.tensors.back().cells = 0;
        }
        if (std::exchange(seen[static_cast<std::size_t>(rank)], number) != number) {
          ++part.tensors.back().cells;
          part.cells.push_back(
              {cell.index, cell.writer, static_cast<std::uint32_t>(part.sources.size()), 0});
        }
        part.cells.back().sources += static_cast<std::uint32_t>(parts.size());
        part.sources.insert(part.sources.end(), parts.begin(), parts.end());
        return {};
      };
      ZARRPOINT_CHECK(give(cell.writer, sources));
      for (const cell_source& one : sources) {
        if (one.rank != cell.writer) ZARRPOINT_CHECK(give(one.rank, {&one, 1}));
      }
    }
  }
  return out;
}

ZARRPOINT_INLINE void write_tensor(wire_writer& to, const planned_tensor& tensor) {
  to.text(tensor.key);
  to.type(tensor.type);
  to.shape(tensor.grid.shape);
  to.indexes(tensor.grid.cell_shape);
  to.flag(!tensor.grid.edges.empty());
  for (const axis_edges& axis : tensor.grid.edges) {
    to.number(axis.runs().size());
    for (const chunk_run& run : axis.runs()) {
      to.index(run.extent);
      to.index(run.count);
    }
  }
  to.number(tensor.prepended_axes);
  to.flag(tensor.is_flat);
  to.number(tensor.cells);
}

ZARRPOINT_INLINE planned_tensor read_tensor(wire_reader& from) {
  planned_tensor out;
  out.key = from.text();
  out.type = from.type();
  out.grid.shape = from.shape();
  const std::size_t rank = out.grid.shape.rank();
  out.grid.cell_shape = from.indexes(rank);
  if (from.flag()) {
    for (std::size_t axis = 0; axis < rank; ++axis) {
      std::vector<chunk_run> runs;
      for (std::size_t n = from.count(2); n > 0; --n) {
        chunk_run run;
        run.extent = from.index();
        run.count = from.index();
        runs.push_back(run);
      }
      out.grid.edges.emplace_back(std::move(runs));
    }
  }
  out.prepended_axes = static_cast<std::size_t>(from.limited(rank));
  out.is_flat = from.flag();
  out.cells = static_cast<std::uint32_t>(std::min<std::size_t>(from.count(3), UINT32_MAX));
  return out;
}

ZARRPOINT_INLINE std::vector<std::byte> encode_plan(const save_plan& plan) {
  wire_writer to;
  to.number(detail::wire_version);
  to.number(plan.tensors.size());
  for (const planned_tensor& tensor : plan.tensors) {
    detail::write_tensor(to, tensor);
    index_t last = 0;
    for (const planned_cell& cell : plan.cells_of(tensor)) {
      to.number(static_cast<std::uint64_t>(cell.index - last));
      last = cell.index;
      to.number(static_cast<std::uint64_t>(cell.writer));
      to.number(cell.sources);
      for (const cell_source& one : plan.sources_of(cell)) {
        // Most often the writer is the source.
        to.index(one.rank - cell.writer);
        to.number(one.shard);
        if (!tensor.is_flat) continue;
        to.index(one.range.start);
        to.index(one.range.stop);
      }
    }
  }
  return std::move(to).take();
}

ZARRPOINT_INLINE result<save_plan> decode_plan(bytes_view message) {
  wire_reader from(message);
  save_plan out;
  const std::uint64_t version = from.number();
  if (!from.failed() && version != detail::wire_version)
    return error{errc::unsupported, "the plan has the unknown version " + std::to_string(version)};
  for (std::size_t n = from.count(8); n > 0 && !from.failed(); --n) {
    planned_tensor tensor = detail::read_tensor(from);
    if (from.failed()) break;
    const std::string where = "plan of \"" + tensor.key + "\"";
    ZARRPOINT_CHECK(tensor.grid.check().at(where));
    ZARRPOINT_TRY(cells, tensor.grid.cells());
    tensor.first_cell = static_cast<std::uint32_t>(out.cells.size());
    index_t last = 0;
    for (std::uint32_t c = 0; c < tensor.cells && !from.failed(); ++c) {
      planned_cell cell;
      const std::uint64_t index =
          static_cast<std::uint64_t>(last) + from.limited(static_cast<std::uint64_t>(cells));
      if (index >= static_cast<std::uint64_t>(cells))
        return error{errc::corrupt, where + ": it names a cell that does not exist"};
      cell.index = static_cast<index_t>(index);
      const bool is_again = c != 0 && cell.index == last;
      last = cell.index;
      cell.writer = static_cast<std::int32_t>(from.limited(INT32_MAX));
      cell.first_source = static_cast<std::uint32_t>(out.sources.size());
      cell.sources = static_cast<std::uint32_t>(from.count(2));
      for (std::uint32_t s = 0; s < cell.sources && !from.failed(); ++s) {
        cell_source one;
        index_t rank = 0;
        if (__builtin_add_overflow(from.index(), index_t{cell.writer}, &rank) || rank < 0 ||
            rank > INT32_MAX)
          from.fail();
        one.rank = static_cast<int>(rank);
        one.shard = static_cast<std::uint32_t>(from.limited(UINT32_MAX));
        if (tensor.is_flat) {
          one.range.start = from.index();
          one.range.stop = from.index();
        }
        out.sources.push_back(one);
      }
      if (is_again && !from.failed()) {
        // Pieces, in their order: of each process its own.
        const planned_cell& before = out.cells.back();
        if (!tensor.is_flat || before.sources != 1 || cell.sources != 1 ||
            out.sources[cell.first_source].range.start <
                out.sources[before.first_source].range.stop)
          return error{errc::corrupt, where + ": it names a cell twice"};
      }
      out.cells.push_back(cell);
    }
    out.tensors.push_back(std::move(tensor));
  }
  ZARRPOINT_CHECK(from.finish());
  return out;
}

}  // namespace detail

}}  // namespace zarrpoint::v0

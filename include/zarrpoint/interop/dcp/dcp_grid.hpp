// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/dcp/dcp_metadata.hpp>
#include <zarrpoint/zarr/chunk_edges.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

/// The boxes of a tensor as the chunks of an array. Pure arithmetic.
///
/// Boxes that form a grid are its chunks: a regular one where all of an axis but the last have one
/// extent, a rectilinear one otherwise. Boxes that form no grid are parts of one chunk, which is
/// the whole tensor. What Megatron-Core flattened has a chunk for each cell of its grid, in which
/// the elements of the cell lie row by row.
class tensor_grid {
 public:
  /// Errors: `corrupt` for holes and overlaps, naming a box; `resource_limit` for more boxes
  /// without a grid than can be compared.
  static result<tensor_grid> make(const tensor_entry& of);

  const dims& shape() const noexcept { return shape_; }  ///< of the array
  const dims& chunk_shape() const noexcept {
    return chunk_shape_;
  }  ///< the largest, if rectilinear
  const std::vector<axis_edges>& edges() const noexcept { return edges_; }  ///< empty if regular
  const dims& counts() const noexcept { return counts_; }  ///< chunks along each axis

  /// The box of the stored tensor whose elements, row by row, are those of a chunk. That of the
  /// last chunk of a regular axis may reach beyond the tensor.
  box chunk_box(const dims& index) const;

  /// The boxes that a chunk has elements of, as their places in `tensor_entry::chunks`.
  std::span<const std::uint32_t> boxes_of(const dims& index) const;

 private:
  result<bool> take_grid(const tensor_entry& of);
  void set_chunks(const std::vector<std::vector<index_t>>& cuts);
  result<void> take_whole(const tensor_entry& of);
  result<void> take_flat(const tensor_entry& of);
  std::size_t place(const dims& index) const;

  dims shape_;
  dims chunk_shape_;
  dims counts_;
  std::vector<axis_edges> edges_;
  index_t flat_ = -1;                  ///< the elements of a cell that is stored flat
  std::vector<std::uint32_t> firsts_;  ///< for each chunk where in `boxes_` its own begin
  std::vector<std::uint32_t> boxes_;
};

}}}}  // namespace zarrpoint::v0::dcp::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/dcp/impl/dcp_grid_impl.hpp>
#endif

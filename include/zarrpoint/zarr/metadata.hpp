// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/zarr/chunks.hpp>
#include <zarrpoint/zarr/fill_value.hpp>

namespace zarrpoint { inline namespace v0 {

/// The name of each dimension; one may have none.
using dimension_names_list = std::vector<std::optional<std::string>>;

/// All that is known about an array before a chunk is read. Zarr v2 is told in the words of v3.
/// Fortran order is a `transpose`, the byte order of a typestr is the `endian` of `bytes`, a
/// compressor is a codec. `zarr_format` says which of the two the document was.
struct array_metadata {
  int zarr_format = 3;
  dims shape;
  dtype type;
  /// The shape of a stored chunk: with sharding, of a shard. No extent is 0. Of a rectilinear grid
  /// the largest extent along each axis.
  dims chunk_shape;
  chunk_key_encoding keys{};
  fill_value fill{};
  std::vector<codec_spec> codecs{};
  /// An object, or null for none.
  json attributes{};
  std::optional<dimension_names_list> dimension_names{};
  /// The extents of the chunks along each axis of a rectilinear grid; empty for a regular one.
  std::vector<axis_edges> edges{};

  /// The bytes of the fill value, or the text of one of variable length.
  bytes_view fill_element() const noexcept;

  tensor_spec spec() const { return {type, shape}; }
  tensor_spec chunk_spec() const { return {type, chunk_shape}; }

  friend bool operator==(const array_metadata&, const array_metadata&) = default;
};

namespace detail {

/// Tells whether the parts fit each other, whichever document they came from: ranks, extents, sizes
/// within 63 bits. Errors: `corrupt`, `out_of_range`.
result<void> check_array_metadata(const array_metadata& array);

/// A chunk extent of 0 is legal on an axis of length 0, where zarr-python writes it and there are
/// no chunks. It becomes 1, so that nothing downstream divides by it.
void mend_empty_chunks(array_metadata& array);

}  // namespace detail

/// The kind of node that a metadata document describes.
enum class node_kind : std::uint8_t { group, array };

/// The documents of the nodes below a group, by path relative to it (`layers/0/w`).
using consolidated_documents = json::object;

/// The content of a group's document.
struct group_metadata {
  int zarr_format = 3;
  /// An object, or null for none.
  json attributes{};
  /// Inline consolidated metadata (v3): every node below, in the order of the document.
  std::optional<consolidated_documents> consolidated{};

  friend bool operator==(const group_metadata&, const group_metadata&) = default;
};

}}  // namespace zarrpoint::v0

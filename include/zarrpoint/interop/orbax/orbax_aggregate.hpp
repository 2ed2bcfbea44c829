// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/interop/orbax/orbax_tree.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

// The msgpack file `checkpoint` that Orbax wrote until 0.5, and Flax before it: a tree of maps
// whose leaves are values, or say that an array lies beside the file.

/// What a leaf of such a file is.
enum class aggregate_kind : std::uint8_t {
  array,        ///< elements, in the file or in `text`
  text,         ///< UTF-8, in `text`
  placeholder,  ///< an array that Orbax keeps under the name in `text`
  empty,        ///< `None`, or an empty dict, list or tuple
};

/// Bytes of the file.
struct aggregate_piece {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// An array in such a file.
struct aggregate_array {
  std::string type;  ///< of the elements, as Zarr v3 names it
  std::vector<index_t> shape;
  std::vector<aggregate_piece> pieces;  ///< the elements one after another, little-endian
};

/// One leaf of such a file.
struct aggregate_leaf {
  tree_leaf leaf;  ///< its name is its `path_text`
  aggregate_kind kind = aggregate_kind::empty;
  std::string text;
  std::unique_ptr<aggregate_array> array;  ///< where `kind` says so
};

using aggregate_leaves = std::vector<aggregate_leaf>;

/// The leaves of such a file, by their paths; elements stay where they are. Errors: `corrupt`;
/// `unsupported` for what neither Orbax nor Flax writes, and for types that Zarr has not;
/// `resource_limit`; those of the file.
result<aggregate_leaves> read_aggregate(const blob& file);

/// Whether a file begins as one that holds a map: TensorFlow's `checkpoint` is a text.
result<bool> is_aggregate(const blob& file);

/// The elements of a leaf as an object.
std::unique_ptr<blob> aggregate_elements(std::shared_ptr<const blob> file,
                                         std::vector<aggregate_piece> pieces);

/// The `zarr.json` of such an array, which is one chunk.
result<json> array_document(const aggregate_array& array);

/// The text of a leaf: its storage name is a JSON pointer without its escapes.
const std::string* text_of(const json& texts, std::string_view storage);

}}}}  // namespace zarrpoint::v0::orbax::detail

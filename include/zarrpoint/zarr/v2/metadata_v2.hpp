// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include <span>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// The documents of a Zarr v2 node.
struct v2_documents {
  json document;    ///< `.zarray` or `.zgroup`
  json attributes;  ///< `.zattrs`; null when there are none and no file is needed
};

/// The array that a `.zarray` describes, in the words of v3 (Zarr v2.0, "Metadata"). `attributes`
/// is the `.zattrs`, null where there is none. As TensorStore and zarr-python, members that are not
/// known are passed over. Errors: `corrupt` for what no reader accepts, `unsupported` for data
/// types, filters and compressors this build does not know, naming them.
result<array_metadata> parse_array_v2(const json& zarray, const json* attributes = nullptr);

/// The `.zarray` and `.zattrs` of an array, members in alphabetical order as TensorStore and
/// zarr-python 2 write them. Errors: `unsupported` for what Zarr v2 cannot say or its readers would
/// not understand; `invalid_argument`. The former are sharding, other codecs than one compressor,
/// the v3 key encoding, dimension names, a NaN with a payload.
result<v2_documents> to_v2(const array_metadata& array);

/// The group that a `.zgroup` describes. `attributes` is the `.zattrs`, null where there is none.
/// Errors: `corrupt`, `unsupported`.
result<group_metadata> parse_group_v2(const json& zgroup, const json* attributes = nullptr);

/// The `.zgroup` and `.zattrs` of a group; consolidated metadata is a document of its own
/// (`to_zmetadata`). Errors: `invalid_argument`.
result<v2_documents> to_v2(const group_metadata& group);

namespace detail {

/// A node of a `.zmetadata`.
struct v2_node {
  std::string path;  ///< `layers/0/w`; empty for the root
  node_kind kind = node_kind::group;
  json document;    ///< `.zarray` or `.zgroup`
  json attributes;  ///< `.zattrs`; null when there are none

  friend bool operator==(const v2_node&, const v2_node&) = default;
};

/// The nodes of a `.zmetadata`, the consolidated metadata of Zarr v2, sorted by path. Attributes
/// of no node and documents of other names are passed over. Errors: `corrupt`, `unsupported` for
/// another `zarr_consolidated_format` than 1.
result<std::vector<v2_node>> parse_zmetadata(const json& document);

/// The `.zmetadata` of these nodes, keys sorted as zarr-python 2 sorts them. Errors:
/// `invalid_argument`.
result<json> to_zmetadata(std::span<const v2_node> nodes);

}  // namespace detail

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/group_metadata.hpp>

#include <span>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A node of a `.zmetadata`.
struct v2_node {
  std::string path;  ///< `layers/0/w`; empty for the root
  node_kind kind = node_kind::group;
  node document;    ///< `.zarray` or `.zgroup`
  node attributes;  ///< `.zattrs`; null when there are none

  friend bool operator==(const v2_node&, const v2_node&) = default;
};

/// The nodes of a `.zmetadata`, the consolidated metadata of Zarr v2, sorted by path. Attributes
/// of no node and documents of other names are passed over. Errors: `corrupt`, `unsupported` for
/// another `zarr_consolidated_format` than 1.
result<std::vector<v2_node>> parse_zmetadata(const node& document);

/// The `.zmetadata` of these nodes, keys sorted as zarr-python 2 sorts them. Errors:
/// `invalid_argument`.
result<node> to_zmetadata(std::span<const v2_node> nodes);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/zarr/v2/impl/consolidated_v2_impl.hpp>
#endif

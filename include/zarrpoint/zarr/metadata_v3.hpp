// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/zarr/metadata.hpp>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// The `node_type` of a v3 document, whatever else stands in it. Errors: `corrupt`, and
/// `unsupported` for another format than 3.
result<node_kind> parse_node_kind_v3(const json& document);

}  // namespace detail

/// The array that a `zarr.json` describes (Zarr v3 core, "Array metadata"). Strict: members that
/// are not known are refused unless they say `must_understand: false`. Codecs are read, not looked
/// up. Errors: `corrupt` for what no reader accepts, `unsupported` for data types, grids and
/// extensions this build does not know, naming them.
result<array_metadata> parse_array_v3(const json& document);

/// The `zarr.json` of an array: the members that the specification requires, always in the same
/// order, then attributes and dimension names where there are any. Codecs in the long form, the
/// separator and the fill value explicit. Errors: `invalid_argument` for what could not be read
/// back.
result<json> to_v3(const array_metadata& array);

/// The group that a `zarr.json` describes; an rvalue is taken apart, not copied. Errors: `corrupt`,
/// `unsupported`.
result<group_metadata> parse_group_v3(json document);

/// The `zarr.json` of a group; attributes and consolidated metadata only where there are any.
/// Errors: `invalid_argument`.
result<json> to_v3(const group_metadata& group);
result<json> to_v3(group_metadata&& group);

}}  // namespace zarrpoint::v0

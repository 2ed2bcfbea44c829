// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>

#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What no name read from a file may be: it could leave its parent, or not be JSON text.
result<void> check_safe_name(std::string_view name);

/// A path from a file: names divided by "/", each of them safe.
result<void> check_safe_path(std::string_view path);

/// Whether a node may be created under that name (Zarr v3 core, "Node names"). It is not empty, no
/// "/", not of periods alone, not beginning with "__", no name of a metadata document of Zarr v2 or
/// v3, UTF-8. Errors: `invalid_argument`.
result<void> check_node_name(std::string_view name);

/// The same for each name of a path such as `layers/0/w`.
result<void> check_node_path(std::string_view path);

}}}  // namespace zarrpoint::v0::detail

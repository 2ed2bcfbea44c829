// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

// What the readers and writers of the metadata documents share.
namespace zarrpoint { inline namespace v0 { namespace detail {

error corrupt(std::string message);
error unsupported(std::string message);

/// An integer; a double counts when it is one (TensorStore reads `4.0`, some writers write it).
std::optional<std::int64_t> integral_int64(const json& value);

/// The same over the whole of uint64.
std::optional<std::uint64_t> integral_uint64(const json& value);

json extents_to_json(const dims& extents);

/// An array of non-negative integers, such as `shape`.
result<dims> parse_extents(const json& value);

/// A member that must be there.
result<const json*> required(const json& document, std::string_view key);

/// Refuses members other than those `known`.
result<void> only_members(const json::object& members,
                          std::initializer_list<std::string_view> known);

/// `zarr_format`, which must be `format`.
result<void> check_format(const json& document, std::int64_t format);

/// Attributes as JSON: an object, or null for none (`null` and `{}` are read as none).
result<json> parse_attributes(json value);

/// Whether a member that is not known may be left aside (Zarr v3 core, "must_understand").
bool may_ignore(const json& member);

/// Refuses what would not read back: text that is not UTF-8, a key twice, nesting beyond
/// `levels`. Errors: `invalid_argument`.
result<void> check_writable(const json& value, std::size_t levels = 48);

result<void> check_writable_attributes(const json& attributes);

}}}  // namespace zarrpoint::v0::detail

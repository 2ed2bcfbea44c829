// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The names under which entries of a file of another format are shown in a hierarchy, in the order
/// of `names`. A name that is a valid key, and lies beneath no other entry, is shown as it is. In
/// the others each byte that stands in the way is written as `%` and two hexadecimal digits, and
/// what is then still another's gets `~2`, `~3` and so on. All that are returned differ.
std::vector<std::string> shown_names(const std::vector<std::string>& names);

/// The attribute that tells the name in the file, where it is not the one that is shown.
inline constexpr std::string_view original_name_member = "original_name";

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/hierarchy/impl/shown_names_impl.hpp>
#endif

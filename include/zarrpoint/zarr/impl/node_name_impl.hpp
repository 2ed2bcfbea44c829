// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/zarr/node_name.hpp>

#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<void> check_safe_name(std::string_view name) {
  const auto refuse = [name](std::string_view why) {
    return error{errc::corrupt, "node name " + in_quotes(name) + " " + std::string(why)};
  };
  if (name.empty()) return refuse("is empty");
  if (name.find('/') != name.npos) return refuse("contains \"/\"");
  if (name.find_first_not_of('.') == name.npos) return refuse("consists of periods");
  if (name.find('\0') != name.npos) return refuse("contains a NUL byte");
  if (!is_utf8(name)) return refuse("is not UTF-8");
  return {};
}

ZARRPOINT_INLINE result<void> check_safe_path(std::string_view path) {
  for (;;) {
    const auto slash = path.find('/');
    ZARRPOINT_CHECK(check_safe_name(path.substr(0, slash)));
    if (slash == path.npos) return {};
    path.remove_prefix(slash + 1);
  }
}

ZARRPOINT_INLINE result<void> check_node_name(std::string_view name) {
  if (auto safe = detail::check_safe_name(name); !safe)
    return error{errc::invalid_argument, safe.failure().message};
  const bool is_document = name == "zarr.json" || name == ".zarray" || name == ".zgroup" ||
                           name == ".zattrs" || name == ".zmetadata";
  if (is_document || name.starts_with("__"))
    return error{errc::invalid_argument, "node name " + detail::in_quotes(name) + " is reserved"};
  return {};
}

ZARRPOINT_INLINE result<void> check_node_path(std::string_view path) {
  for (;;) {
    const auto slash = path.find('/');
    ZARRPOINT_CHECK(check_node_name(path.substr(0, slash)));
    if (slash == path.npos) return {};
    path.remove_prefix(slash + 1);
  }
}

}}}  // namespace zarrpoint::v0::detail

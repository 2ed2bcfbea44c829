// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>

#include <span>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

struct url;
struct stored_place;
struct place_use;

/// One scheme of a table.
struct store_entry {
  std::string_view scheme;
  result<stored_place> (*open)(const url& at, const place_use& use);
};

/// The schemes that are known at run time: a handle to the constant table of a `store_registry`.
class store_table {
 public:
  /// No schemes at all.
  constexpr store_table() = default;
  constexpr explicit store_table(std::span<const store_entry> entries) : entries_(entries) {}

  constexpr std::span<const store_entry> entries() const noexcept { return entries_; }

  /// What `path_or_url` names. A string without `://` is a path, and stands for `zip://` if it
  /// names a zip file, else for `file://`. Errors: `unsupported` for a scheme that is not in the
  /// table, and those of the scheme.
  result<stored_place> open(const std::string& path_or_url, const place_use& use) const;

 private:
  result<const store_entry*> find(std::string_view scheme) const;
  result<stored_place> open_path(const std::string& path, const place_use& use) const;

  std::span<const store_entry> entries_;
};

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/store/impl/table_impl.hpp>
#endif

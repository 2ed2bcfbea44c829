// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/store/base/url.hpp>
#include <zarrpoint/store/place.hpp>
#include <zarrpoint/store/schemes.hpp>
#include <zarrpoint/store/table.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<stored_place> store_table::open(const std::string& path_or_url,
                                                        const place_use& use) const {
  const std::optional<url> parsed = url::parse(path_or_url);
  if (!parsed) return open_path(path_or_url, use);
  if (parsed->scheme == file_scheme::name) {
    ZARRPOINT_TRY(path, parsed->path());
    return open_path(path, use);
  }
  ZARRPOINT_TRY(entry, find(parsed->scheme));
  return entry->open(*parsed, use);
}

ZARRPOINT_INLINE result<const store_entry*> store_table::find(std::string_view scheme) const {
  for (const store_entry& entry : entries_)
    if (entry.scheme == scheme) return &entry;
  std::string text =
      "no store for " + detail::in_quotes(std::string(scheme) + "://") + "; context::stores has";
  for (const store_entry& entry : entries_) text.append(" ").append(entry.scheme).append("://");
  text += " (context::stores = default_stores::with<...>::table() adds one)";
  return error{errc::unsupported, std::move(text)};
}

ZARRPOINT_INLINE result<stored_place> store_table::open_path(const std::string& path,
                                                             const place_use& use) const {
  const bool is_zip = detail::is_zip_path(path);
  ZARRPOINT_TRY(entry, find(is_zip ? zip_scheme::name : file_scheme::name));
  return entry->open(url::of_path(entry->scheme, path), use);
}

}}  // namespace zarrpoint::v0

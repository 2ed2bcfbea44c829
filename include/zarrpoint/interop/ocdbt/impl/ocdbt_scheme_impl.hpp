// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_scheme.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/place.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

ZARRPOINT_INLINE result<std::optional<stored_place>> split_at_directory(const std::string& path,
                                                                        link_scope links) {
  std::string_view whole = path;
  while (whole.size() > 1 && whole.ends_with('/')) whole.remove_suffix(1);
  std::string_view directory = whole;
  std::string_view rest;
  while (true) {
    auto store =
        file_store::open(std::string(directory), {.read_only = true, .follow_links = links});
    if (store) {
      auto key = store_key::parse(rest);
      if (!key) return std::optional<stored_place>();
      return std::optional(stored_place{std::move(*store), *std::move(key)});
    }
    const std::size_t slash = directory.rfind('/');
    if (store.failure().code != errc::not_found || slash == directory.npos || slash == 0)
      return std::optional<stored_place>();
    directory = directory.substr(0, slash);
    rest = whole.substr(slash + 1);
  }
}

ZARRPOINT_INLINE result<std::optional<stored_place>> ocdbt_directory(const std::string& path,
                                                                     link_scope links) {
  ZARRPOINT_TRY(at, split_at_directory(path, links));
  if (!at) return std::optional<stored_place>();
  ZARRPOINT_TRY(manifest, store_key::parse("manifest.ocdbt"));
  ZARRPOINT_TRY(file, at->store.open(manifest));
  if (file == nullptr) return std::optional<stored_place>();
  return std::move(at);
}

ZARRPOINT_INLINE result<stored_place> in_database(stored_place at, const ocdbt_options& how) {
  ZARRPOINT_TRY(store, ocdbt_store::open(std::move(at.store), store_key::root(), how));
  return stored_place{std::move(store), std::move(at.key)};
}

ZARRPOINT_INLINE result<std::optional<stored_place>> find_ocdbt(const std::string& path,
                                                                link_scope links,
                                                                const ocdbt_options& how) {
  ZARRPOINT_TRY(found, ocdbt_directory(path, links));
  if (!found) return std::optional<stored_place>();
  ZARRPOINT_TRY(opened, in_database(*std::move(found), how));
  return std::optional(std::move(opened));
}

}  // namespace detail

ZARRPOINT_INLINE result<stored_place> ocdbt_place(const std::string& path,
                                                  const ocdbt_options& how) {
  ZARRPOINT_TRY(found, detail::ocdbt_directory(path, link_scope::none));
  if (!found)
    return error{errc::not_found,
                 "open " + path + ": there is no OCDBT database: no directory with manifest.ocdbt"};
  return detail::in_database(std::move(*found), how);
}

ZARRPOINT_INLINE result<stored_place> ocdbt_scheme::open(const url& at, const place_use& use) {
  ZARRPOINT_TRY(path, at.path());
  if (use.write)
    return error{
        errc::unsupported,
        "write " + path + ": ocdbt_writer writes OCDBT databases; save to a directory or a zip"};
  return ocdbt_place(path, ocdbt_options{}.within(use.memory));
}

ZARRPOINT_INLINE result<stored_place> ocdbt_file_scheme::open(const url& at, const place_use& use) {
  if (!use.write) {
    ZARRPOINT_TRY(path, at.path());
    ZARRPOINT_TRY(found,
                  detail::find_ocdbt(path, link_scope::none, ocdbt_options{}.within(use.memory)));
    if (found) return *std::move(found);
  }
  return file_scheme::open(at, use);
}

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/store/file/file_options.hpp>
#include <zarrpoint/store/registry.hpp>
#include <zarrpoint/store/schemes.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// The nearest directory on the way to `path` that is there, and the key in it: `x/a/b` is `a/b` in
/// `x`. Nothing where there is none, and where the rest is not a key.
result<std::optional<stored_place>> split_at_directory(const std::string& path,
                                                       link_scope links = link_scope::none);

/// The database in the nearest directory on the way to `path`; nothing if there is none.
result<std::optional<stored_place>> find_ocdbt(const std::string& path, link_scope links,
                                               const ocdbt_options& how = {});

}  // namespace detail

/// The OCDBT database in the directory `path`, or the key in one: `x/a/b` is what lies at `a/b` in
/// the database in `x`. Errors: those of `ocdbt_store::open`.
result<stored_place> ocdbt_place(const std::string& path, const ocdbt_options& how = {});

/// `ocdbt://`: a database in a directory. What is written there is `unsupported`.
struct ocdbt_scheme {
  static constexpr std::string_view name = "ocdbt";
  static result<stored_place> open(const url& at, const place_use& use);
};

/// Paths: as those of `file_scheme`, and to read, a directory that holds a manifest is the database
/// in it.
struct ocdbt_file_scheme {
  static constexpr std::string_view name = "file";
  static result<stored_place> open(const url& at, const place_use& use);
};

/// The schemes of a `context` to which OCDBT databases are as good as directories:
/// `context{.stores = ocdbt_stores::table()}`.
using ocdbt_stores = default_stores::with<ocdbt_scheme, ocdbt_file_scheme>;

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/ocdbt/impl/ocdbt_scheme_impl.hpp>
#endif

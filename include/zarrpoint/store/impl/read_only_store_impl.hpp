// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/concepts.hpp>
#include <zarrpoint/store/base/url.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/place.hpp>
#include <zarrpoint/store/read_only_store.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<stored_place> read_only_file_scheme::open_directory(const url& at) {
  ZARRPOINT_TRY(path, at.path());
  ZARRPOINT_TRY(store, file_store::open(path, {.read_only = true}));
  return stored_place{read_only_store<file_store>(std::move(store)), store_key::root()};
}

ZARRPOINT_INLINE result<stored_place> read_only_file_scheme::open(const url& at,
                                                                  const place_use& use) {
  if (use.write)
    return error{errc::unsupported, "this table of stores (context::stores) is read-only"};
  return open_directory(at);
}

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/place.hpp>
#include <zarrpoint/store/schemes.hpp>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<stored_place> file_scheme::open(const url& at, const place_use& use) {
  ZARRPOINT_TRY(path, at.path());
  return directory_place(path, use);
}

ZARRPOINT_INLINE result<stored_place> zip_scheme::open(const url& at, const place_use& use) {
  ZARRPOINT_TRY(path, at.path());
  return detail::zip_place(path, use);
}

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/url.hpp>
#include <zarrpoint/store/stored_place.hpp>

#include <concepts>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// What opens the URLs of one scheme: a type with `name`, the scheme in lower case, and `open`.
template <class S>
concept store_scheme = requires(const url& at, const place_use& use) {
  { S::name } -> std::convertible_to<std::string_view>;
  { S::open(at, use) } -> std::same_as<result<stored_place>>;
};

/// `file://`: a directory, or a zip file if the path means one.
struct file_scheme {
  static constexpr std::string_view name = "file";
  static result<stored_place> open(const url& at, const place_use& use);
};

/// `zip://`: a zip file of stored members. That of <zarrpoint/zip_inflate.hpp> reads deflated
/// ones, too.
struct zip_scheme {
  static constexpr std::string_view name = "zip";
  static result<stored_place> open(const url& at, const place_use& use);
};

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/store/impl/schemes_impl.hpp>
#endif

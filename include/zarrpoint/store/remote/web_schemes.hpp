// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/url.hpp>
#include <zarrpoint/store/format.hpp>
#include <zarrpoint/store/remote/http_store.hpp>

#include <concepts>

namespace zarrpoint { inline namespace v0 {

/// Gives the transport of a scheme: a type with a static function `transport`. It may have others:
/// `options(const url&)`, or `options()`, gives the `http_store_options`. The scheme has every
/// host, so what goes to one only, such as a token, must ask for the URL. `executor` gives, in
/// place of `remote_executor`, a pointer to what loads run on, or null for that of the context.
template <class T>
concept web_access = requires {
  { T::transport() } -> std::convertible_to<any_transport>;
};

namespace detail {

/// The object at a place in S3 that says which of its trees is the checkpoint (docs/s3.md).
inline constexpr std::string_view current_name = ".zarrpoint/current";
inline constexpr std::string_view current_head = "zarrpoint 1\ntree ";
/// What each object of a save to a bucket says beside its bytes: the id of the save.
inline constexpr std::string_view save_mark = "zarrpoint-save";

/// What it says: the prefix of the tree beneath the place, which is empty for the plain keys.
/// Errors: `corrupt`.
result<std::string> tree_of(std::string_view text, const std::string& name);

/// What a URL of http or https names: a hierarchy of Zarr in a zip file or a directory, or what one
/// of these formats reads. Of a place in S3 it is the current checkpoint.
result<stored_place> open_web_place(
    const url& at, const place_use& use, http_store_options how,
    const std::pair<any_transport, std::span<const format_entry>>& by);

/// The Zarr hierarchy in a zip file, or what lies at `rest` in it.
result<stored_place> web_zip(std::unique_ptr<blob> file, const std::string& rest,
                             const place_use& use);

template <web_access By>
http_store_options web_options([[maybe_unused]] const url& at) {
  if constexpr (requires { By::options(at); }) {
    return By::options(at);
  } else if constexpr (requires { By::options(); }) {
    return By::options();
  } else {
    return {};
  }
}

template <web_access By>
struct web_scheme {
  static result<stored_place> open(const url& at, const place_use& use) {
    return open_among(at, use, {});
  }
  static result<stored_place> open_among(const url& at, const place_use& use,
                                         std::span<const format_entry> formats) {
    auto place =
        open_web_place(at, use, web_options<By>(at), {any_transport(By::transport()), formats});
    if constexpr (requires { By::executor(); }) {
      if (place) place->executor = By::executor();
    } else {
      if (place) place->executor = &remote_executor();
    }
    return place;
  }
};

}  // namespace detail

/// `http://` by the transport of `By`: what is read by ranges, and never written. A name that ends
/// with a slash, or has no extension, is a directory if it is not a file of a format.
template <web_access By>
struct http_scheme_by : detail::web_scheme<By> {
  static constexpr std::string_view name = "http";
};

/// `https://`, in the same way.
template <web_access By>
struct https_scheme_by : detail::web_scheme<By> {
  static constexpr std::string_view name = "https";
};

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/gcs/gcs_client.hpp>
#include <zarrpoint/interop/s3/bucket_store.hpp>

#include <span>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 {

/// Objects beneath `gs://bucket/key`, in Google Cloud Storage: a `bucket_store`. A checkpoint is
/// published by a put whose condition is a generation.
class gcs_store : public bucket_store {
 public:
  /// Sends nothing. Errors: `invalid_argument` for what is not such a URL, or an endpoint that is
  /// not one of http or https.
  static result<gcs_store> open(std::string_view address, any_transport by, gcs_options how = {});
  using bucket_store::open;

 private:
  using bucket_store::bucket_store;
};

namespace detail {

/// What a URL of Google Cloud Storage names: a Zarr hierarchy, or what one of these formats reads.
result<stored_place> open_gcs_place(
    const url& at, const place_use& use, gcs_options how,
    const std::pair<any_transport, std::span<const format_entry>>& by);

}  // namespace detail

/// `gs://bucket/key` by the transport of `By`, such as `curl_access`, to read and to write:
/// `formats<gs_scheme_by<curl_access>>()`. A static function `gcs` of `By` gives `gcs_options`;
/// else tokens and endpoint are those of the environment.
template <web_access By>
struct gs_scheme_by {
  static constexpr std::string_view name = "gs";
  static result<stored_place> open(const url& at, const place_use& use) {
    return open_among(at, use, {});
  }
  static result<stored_place> open_among(const url& at, const place_use& use,
                                         std::span<const detail::format_entry> formats) {
    gcs_options how;
    if constexpr (requires { By::gcs(); }) how = By::gcs();
    auto place =
        detail::open_gcs_place(at, use, std::move(how), {any_transport(By::transport()), formats});
    if (place) place->executor = &remote_executor();
    return place;
  }
};

}}  // namespace zarrpoint::v0

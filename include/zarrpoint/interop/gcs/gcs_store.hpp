// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/gcs/gcs_client.hpp>
#include <zarrpoint/interop/s3/bucket_store.hpp>

#include <string_view>

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

/// `gs://bucket/key` by the transport of `By`, such as `curl_access`, to read and to write:
/// `formats<gs_scheme_by<curl_access>>()`. A static function `gcs` of `By` gives `gcs_options`;
/// else tokens and endpoint are those of the environment.
template <web_access By>
struct gs_scheme_by : detail::bucket_scheme<gs_scheme_by<By>, gcs_store, By> {
  static constexpr std::string_view name = "gs";
  static gcs_options options() {
    if constexpr (requires { By::gcs(); }) {
      return By::gcs();
    } else {
      return {};
    }
  }
};

}}  // namespace zarrpoint::v0

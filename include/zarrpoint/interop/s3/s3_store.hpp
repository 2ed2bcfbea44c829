// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/s3/bucket_store.hpp>
#include <zarrpoint/interop/s3/s3_client.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// Objects beneath `s3://bucket/key`, in S3 or in a store that speaks as it does: a `bucket_store`.
class s3_store : public bucket_store {
 public:
  /// Sends nothing. Errors: `invalid_argument` for what is not such a URL, or an endpoint that is
  /// not one of http or https.
  static result<s3_store> open(std::string_view address, any_transport by, s3_options how = {});
  using bucket_store::open;

  /// A URL by which anybody may read an object for that long, up to a week. Errors: those of the
  /// login; `invalid_argument` for a time that is longer, and without keys.
  result<std::string> presign(const store_key& key, std::chrono::seconds valid) const;

 private:
  s3_store(std::shared_ptr<const detail::s3_client> client, const store_key& place)
      : bucket_store(client, place), client_(std::move(client)) {}

  std::shared_ptr<const detail::s3_client> client_;
};

/// `s3://bucket/key` by the transport of `By`, such as `curl_access`, to read and to write:
/// `formats<s3_scheme_by<curl_access>>()`. A static function `s3` of `By` gives `s3_options`; else
/// keys and endpoint are those of the environment.
template <web_access By>
struct s3_scheme_by : detail::bucket_scheme<s3_scheme_by<By>, s3_store, By> {
  static constexpr std::string_view name = "s3";
  static s3_options options() {
    if constexpr (requires { By::s3(); }) {
      return By::s3();
    } else {
      return {};
    }
  }
};

}}  // namespace zarrpoint::v0

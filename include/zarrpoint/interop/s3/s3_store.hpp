// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/s3/bucket_store.hpp>
#include <zarrpoint/interop/s3/s3_client.hpp>

#include <chrono>
#include <span>
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

namespace detail {

/// What a URL of S3 names: a Zarr hierarchy, or what one of these formats reads.
result<stored_place> open_s3_place(
    const url& at, const place_use& use, s3_options how,
    const std::pair<any_transport, std::span<const format_entry>>& by);

}  // namespace detail

/// `s3://bucket/key` by the transport of `By`, such as `curl_access`, to read and to write:
/// `formats<s3_scheme_by<curl_access>>()`. A static function `s3` of `By` gives `s3_options`; else
/// keys and endpoint are those of the environment.
template <web_access By>
struct s3_scheme_by {
  static constexpr std::string_view name = "s3";
  static result<stored_place> open(const url& at, const place_use& use) {
    return open_among(at, use, {});
  }
  static result<stored_place> open_among(const url& at, const place_use& use,
                                         std::span<const detail::format_entry> formats) {
    s3_options how;
    if constexpr (requires { By::s3(); }) how = By::s3();
    auto place =
        detail::open_s3_place(at, use, std::move(how), {any_transport(By::transport()), formats});
    if (place) place->executor = &remote_executor();
    return place;
  }
};

}}  // namespace zarrpoint::v0

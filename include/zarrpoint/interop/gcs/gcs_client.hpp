// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/gcs/gcs_login.hpp>
#include <zarrpoint/interop/s3/bucket_client.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// How a bucket of Google Cloud Storage is reached, and by whom.
struct gcs_options {
  /// `https://host:port` of a server that speaks as it does. Empty: `STORAGE_EMULATOR_HOST`, else
  /// `https://storage.googleapis.com`.
  std::string endpoint{};
  gcs_login login{};
  /// The project that pays for requests, where the bucket wants that.
  std::string user_project{};
  /// See `s3_options`, as for all that follow.
  bool single_writer = false;
  std::size_t part_bytes = std::size_t{16} << 20;
  unsigned parallel = 16;
  std::int64_t keep_seconds = 86400;
  retry_options retry{};
  /// See `http_store_options::cache`.
  std::function<std::unique_ptr<blob>(std::unique_ptr<blob>)> cache{};
};

namespace detail {

/// A page of `objects.list`. Errors: `corrupt`.
result<bucket_listing> parse_gcs_listing(std::string_view document);

/// What an object has by itself, beside its bytes.
struct gcs_object {
  std::string generation{};
  std::string crc32c{};   ///< base64
  std::string created{};  ///< `2026-11-28T12:00:00.000Z`
  query_list marks{};
};
/// As JSON has it. Errors: `corrupt`.
result<gcs_object> parse_gcs_object(std::string_view document);

/// The CRC-32C in a header `x-goog-hash`, as base64; or an empty text.
std::string_view crc32c_of_hashes(std::string_view header);

/// A bucket of Google Cloud Storage: by its JSON interface with a bearer token, by that of XML with
/// HMAC keys. Large objects go by that of XML in either case.
class gcs_client final : public bucket_client {
 public:
  /// Errors: `invalid_argument` for a bucket or an endpoint that is none.
  static result<std::shared_ptr<const gcs_client>> open(std::string_view bucket, any_transport by,
                                                        gcs_options how);
  gcs_client(std::string bucket, any_transport by, gcs_options how, web_url endpoint);

  std::string name_of(std::string_view key) const override;
  std::string address_of(std::string_view key) const override;
  std::string shown(std::string_view key) const override;
  result<void> sign(http_request& request) const override;

  result<http_response> put_once(const bucket_put& what) const override;
  result<http_response> read_once(std::string_view key) const override;
  result<http_response> erase_once(std::string_view key) const override;
  result<bucket_listing> list_once(std::string_view prefix, bool delimited,
                                   std::string_view after) const override;
  result<std::optional<std::string>> mark_of(std::string_view key,
                                             std::string_view name) const override;
  std::unique_ptr<part_upload> upload(std::string key, query_list marks) const override;

  std::string version_of(const http_response& answer) const override;
  std::string no_version() const override { return "1"; }

 private:
  bool is_xml() const noexcept { return how_.login.is_hmac(); }
  /// `/storage/v1/b/bucket/o`, and the key.
  std::string json_url(std::string_view begin, std::string_view key, const query_list& query) const;
  result<http_response> send_xml(const bucket_request& what) const;
  result<http_response> put_json(const bucket_put& what) const;
  result<http_response> put_xml(const bucket_put& what) const;
  /// Asks for what the object has by itself, where an answer does not say it.
  result<void> complete_head(std::string_view key, http_response& answer) const;
  /// Compares an object that was put in parts.
  result<void> check_parts(std::string_view key, const http_response& answer,
                           std::uint32_t crc) const;
  error differs(std::string_view action, std::string_view key) const;

  std::string bucket_;
  any_transport by_;
  gcs_options how_;
  web_url endpoint_;
  bool is_google_;  ///< the service itself, which has uploads in parts
};

}  // namespace detail

}}  // namespace zarrpoint::v0

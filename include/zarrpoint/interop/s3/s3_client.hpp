// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/s3/bucket_client.hpp>
#include <zarrpoint/interop/s3/credentials.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// How a bucket is reached, and by whom.
struct s3_options {
  /// `https://host:port` of a store that speaks as S3. Empty: `AWS_ENDPOINT_URL_S3`,
  /// `AWS_ENDPOINT_URL`, else AWS.
  std::string endpoint{};
  /// Empty: `AWS_REGION`, `AWS_DEFAULT_REGION`, that of the profile, else `us-east-1`. A bucket of
  /// AWS that lies in another one says so, and is asked there.
  std::string region{};
  aws_login login{};
  /// `https://host/bucket` (true) or `https://bucket.host` (false). Nothing: the former for an
  /// endpoint that is given and for a bucket with a dot in its name.
  std::optional<bool> path_style{};
  bool requester_pays = false;
  /// Publishes also where the server ignores the conditions of a put: then nothing may write there
  /// at the same time.
  bool single_writer = false;
  /// Objects of more bytes are sent in parts of as many, or of more where 10,000 would not do. From
  /// 5 MiB to 5 GiB, whatever is said here.
  std::size_t part_bytes = std::size_t{16} << 20;
  unsigned parallel = 16;  ///< parts under way at once of all objects, or requests of one removal
  /// How long what was replaced stays for those who read it, and what a save left that was killed.
  std::int64_t keep_seconds = 86400;
  retry_options retry{};
  /// See `http_store_options::cache`.
  std::function<std::unique_ptr<blob>(std::unique_ptr<blob>)> cache{};
};

namespace detail {

/// A bucket of S3, or of a store that speaks as it does.
class s3_client final : public bucket_client {
 public:
  /// Errors: `invalid_argument` for a bucket or an endpoint that is none.
  static result<std::shared_ptr<const s3_client>> open(std::string_view bucket, any_transport by,
                                                       s3_options how);
  s3_client(std::string bucket, any_transport by, s3_options how, web_url endpoint);

  const s3_options& options() const noexcept { return how_; }

  std::string name_of(std::string_view key) const override;
  std::string address_of(std::string_view key) const override { return url_of(key).str(); }
  result<void> sign(http_request& request) const override;
  result<std::string> presign(std::string_view key, std::int64_t seconds) const;

  /// The server checks a CRC-32C of all of it, unless it refuses to.
  result<http_response> put_once(const bucket_put& what) const override;
  result<http_response> read_once(std::string_view key) const override;
  result<http_response> erase_once(std::string_view key) const override;
  result<bucket_listing> list_once(std::string_view prefix, bool delimited,
                                   std::string_view after) const override;
  result<std::optional<std::string>> mark_of(std::string_view key,
                                             std::string_view name) const override;
  std::unique_ptr<part_upload> upload(std::string key, query_list marks) const override;
  result<bool> copy(std::string_view from, std::string_view to, const query_list& marks,
                    const blob_version& of) const override;

  std::string version_of(const http_response& answer) const override;
  std::string no_version() const override;
  /// Ceph takes an ETag without its quotation marks only.
  std::string other_form(const std::string& version) const override;

 private:
  /// Any answer is one; another region is asked where the bucket lies in it.
  result<http_response> send(const bucket_request& what) const;
  /// The URL of a key, or of the bucket, in the region that is known by now.
  web_url url_of(std::string_view key) const;
  std::string region() const;
  /// Whether the answer names another region than the one that was asked, which is then asked.
  bool learn_region(const http_response& answer, std::string_view asked) const;
  /// Whether an answer is a refusal of checksums, which then are not sent any more.
  bool refuses_checksums(const http_response& answer) const;

  std::string bucket_;
  any_transport by_;
  s3_options how_;
  web_url endpoint_;  ///< empty host: that of AWS in the region
  mutable std::mutex mutex_{};
  mutable std::string region_{};
  mutable std::atomic<bool> checksums_{true};
};

}  // namespace detail

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/s3/credentials.hpp>
#include <zarrpoint/interop/s3/sigv4.hpp>
#include <zarrpoint/interop/s3/xml_reader.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/remote/http_client.hpp>
#include <zarrpoint/store/remote/transport.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  /// Objects of more bytes are sent in parts of as many, or of more where 10,000 would not do.
  std::size_t part_bytes = std::size_t{16} << 20;
  unsigned parallel = 8;  ///< requests under way at once for one object, or one removal
  /// How long what was replaced stays for those who read it, and what a save left that was killed.
  std::int64_t keep_seconds = 86400;
  retry_options retry{};
};

namespace detail {

/// One request to a bucket.
struct s3_request {
  std::string_view method = "GET";
  std::string_view key{};  ///< in the bucket; empty: the bucket
  query_list query{};
  std::vector<http_header> headers{};
  std::span<const bytes_view> body{};
  std::size_t text_limit = std::size_t{64} << 10;
  bool* maybe_done = nullptr;  ///< see `http_exchange`
};

/// What must be true of an object for a put: that it is not there, or that it has this ETag.
struct put_condition {
  std::string etag{};   ///< empty: nothing is there
  bool is_any = false;  ///< no condition at all
};

/// Requests to one bucket, signed and repeated; a handle.
class s3_client {
 public:
  /// Errors: `invalid_argument` for a bucket or an endpoint that is none.
  static result<s3_client> open(std::string_view bucket, any_transport by, s3_options how);

  const s3_options& options() const noexcept { return state_->how; }
  const std::string& bucket() const noexcept { return state_->bucket; }
  const any_transport& transport() const noexcept { return state_->by; }
  const http_client& requests() const noexcept { return state_->requests; }

  std::string name_of(std::string_view key) const;
  /// The URL of a key, or of the bucket, in the region that is known by now.
  web_url url_of(std::string_view key) const;
  /// Signs as of now.
  result<void> sign(http_request& request) const;
  result<std::string> presign(std::string_view key, std::int64_t seconds) const;

  /// Any answer is one; another region is asked where the bucket lies in it. Errors: those of
  /// `http_client::send`.
  result<http_response> send(const s3_request& what) const;
  /// As `send`, but an answer of another status than 2xx is an error, with what the service says.
  result<http_response> demand(const s3_request& what) const;

  /// The text of a small object, and the answer; nothing where there is none. A key that may not
  /// be read is none, as S3 says 403 for a missing one to those who may not list; a login that is
  /// refused is an error.
  result<std::optional<http_response>> get(std::string_view key) const;
  /// The server checks a CRC-32C of all of it, unless it refuses to.
  result<void> put(std::string_view key, std::span<const bytes_view> body,
                   const std::vector<http_header>& headers = {}) const;
  /// False where the condition is not met. A lost answer is resolved by reading: `body` must be
  /// another one for each put. Errors: `outcome_unknown` where that cannot be read either.
  result<bool> put_if(std::string_view key, std::string_view body, const put_condition& only) const;
  result<bool> exists(std::string_view key) const;
  result<void> erase(std::string_view key) const;

  /// Calls `visit` with each page of the keys that begin with `prefix`. `delimited`: those with a
  /// further slash are one prefix.
  result<void> list(std::string_view prefix, bool delimited,
                    const std::function<result<void>(s3_listing&)>& visit) const;
  /// Erases all keys that begin with `prefix`, but for those that begin with `but`; the number.
  result<std::size_t> erase_all(std::string_view prefix, std::string_view but = {}) const;

  bool sends_checksums() const noexcept { return state_->checksums; }
  /// Whether an answer is a refusal of checksums, which then are not sent any more.
  bool refuses_checksums(const http_response& answer) const;

 private:
  struct state {
    state(std::string of, any_transport with, s3_options options, web_url at)
        : bucket(std::move(of)),
          by(std::move(with)),
          how(std::move(options)),
          requests(by, how.retry),
          endpoint(std::move(at)) {}
    std::string bucket;
    any_transport by;
    s3_options how;
    http_client requests;
    web_url endpoint;  ///< empty host: that of AWS in the region
    mutable std::mutex mutex{};
    std::string region{};
    std::atomic<bool> checksums{true};
  };
  explicit s3_client(std::shared_ptr<state> of) : state_(std::move(of)) {}
  std::string region() const;
  /// Whether the answer names another region than the one that was asked, which is then asked.
  bool learn_region(const http_response& answer, std::string_view asked) const;

  std::shared_ptr<state> state_;
};

/// Calls `f(i)` for i from 0 to `count`, in up to `width` threads. The first error, in their order.
result<void> for_each_parallel(std::size_t count, unsigned width,
                               const std::function<result<void>(std::size_t)>& f);

/// One object that is written in parts.
std::unique_ptr<blob_writer> make_s3_writer(s3_client to, std::string key,
                                            std::vector<http_header> headers);

}  // namespace detail

}}  // namespace zarrpoint::v0

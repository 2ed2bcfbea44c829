// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/remote/transport.hpp>
#include <zarrpoint/store/remote/web_url.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Signatures of AWS, version 4:
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html

namespace zarrpoint { inline namespace v0 {

/// Keys to an account of S3, or of a store that signs as it does. They are shown to nobody: an
/// error, a report or a log has none of them, and no operator writes them to a stream.
struct aws_credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token{};  ///< of temporary keys
  /// When they end, in seconds since 1970; nothing for those that stay.
  std::optional<std::int64_t> expires{};
};

/// `AKIA****`: enough to tell whose keys they are, and of no other use.
std::string to_string(const aws_credentials& of);

namespace detail {

/// What a signature is valid for.
struct signing_scope {
  std::string_view region;
  std::string_view service = "s3";
  std::int64_t now = 0;    ///< seconds since 1970
  bool is_google = false;  ///< GOOG4-HMAC-SHA256, which has other words for the same
};

/// The query of a URL, names and values as they are, not encoded.
using query_list = std::vector<std::pair<std::string, std::string>>;

/// As it is signed, and as it is sent: sorted, percent-encoded, `name=` where a value is empty.
std::string canonical_query(const query_list& query);

/// The hash that stands for a body that is not hashed: TLS looks after it.
inline constexpr std::string_view unsigned_payload = "UNSIGNED-PAYLOAD";

/// Adds the headers `x-amz-date`, `x-amz-security-token` and `Authorization` to a request. The path
/// of its URL is encoded once and signed as it stands; its query is `canonical_query`.
/// `payload_hash` is that of the body in hex, or `unsigned_payload`; for S3 it is sent as
/// `x-amz-content-sha256`, too. Of Google, `x-amz-` is `x-goog-`. All headers of the request are
/// signed but `Accept-Encoding`.
void sign_v4(http_request& request, std::string_view payload_hash, const aws_credentials& by,
             const signing_scope& scope);

/// The URL of a `method` that anybody may send within `seconds`, up to 604,800 (a week).
std::string presign_v4(std::string_view method, const web_url& of, const aws_credentials& by,
                       const signing_scope& scope, std::int64_t seconds);

}  // namespace detail

}}  // namespace zarrpoint::v0

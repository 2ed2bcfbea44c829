// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/s3/renewed_keys.hpp>
#include <zarrpoint/store/remote/transport.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// Where the tokens of Google Cloud Storage come from:
// https://cloud.google.com/docs/authentication/application-default-credentials

namespace zarrpoint { inline namespace v0 {

/// What requests to Google Cloud Storage are signed by: a bearer token, or HMAC keys. No error, no
/// report and no log has them.
struct gcs_credentials {
  std::string token{};
  std::string access_key{}, secret_key{};  ///< HMAC keys, where there is no token
  std::string quota_project{};             ///< of those who sign in by `gcloud`: who is charged
  std::optional<std::int64_t> expires{};   ///< in seconds since 1970; nothing: they stay
};

/// The RSA signature of `text` with SHA-256 (RS256, PKCS #1 v1.5) by a private key in PEM. Service
/// accounts sign in by it. `openssl_rs256` of gcs_openssl.hpp is one.
using rs256_signer =
    std::function<result<std::string>(std::string_view private_key, std::string_view text)>;

/// Where a store has its tokens from: a handle, whose copies share what was found. Tokens are asked
/// for anew 5 minutes before they end, by one thread.
class gcs_login {
 public:
  /// Gives credentials, each time that it is asked. Errors name none.
  using source = std::function<result<gcs_credentials>(const any_transport& by)>;

  /// As Google's own tools look for them, and the first that is there. They are
  /// `GOOGLE_OAUTH_ACCESS_TOKEN` or `CLOUDSDK_AUTH_ACCESS_TOKEN`, the file that
  /// `GOOGLE_APPLICATION_CREDENTIALS` names, that of `gcloud auth application-default login`, the
  /// machine's (connected within 300 ms). None where `STORAGE_EMULATOR_HOST` is set and no file is
  /// named. `sign` is for files of service accounts.
  gcs_login() : gcs_login(automatic()) {}
  static gcs_login automatic(rs256_signer sign = {});

  /// Requests are not signed, and no tokens are looked for.
  static gcs_login anonymous();
  /// A bearer token, such as that of `gcloud auth print-access-token`.
  static gcs_login token(std::string bearer);
  /// HMAC keys: the store is asked by the XML interface, as S3 is.
  static gcs_login hmac(std::string access_key, std::string secret_key);
  /// A file of credentials: those of a user (`authorized_user`) or of a service account.
  static gcs_login file(std::string path, rs256_signer sign = {});
  /// From a program's own source of bearer tokens.
  static gcs_login from(source by);

  bool is_anonymous() const noexcept { return state_ == nullptr; }
  bool is_hmac() const noexcept { return is_hmac_; }

  /// Those for a request of now; empty ones for one that is not signed. Errors: `invalid_argument`
  /// where none are found, with where they were looked for; `unsupported` for a file of another
  /// kind, or without `sign`; those of the source.
  result<gcs_credentials> keys(const any_transport& by) const;

 private:
  using state = detail::renewed_keys<gcs_credentials>;
  explicit gcs_login(std::shared_ptr<state> of, bool is_hmac = false)
      : state_(std::move(of)), is_hmac_(is_hmac) {}

  std::shared_ptr<state> state_;
  bool is_hmac_;
};

namespace detail {

/// The token in an answer of Google's: `access_token`, and when it ends. Errors: `corrupt`, without
/// the document.
result<gcs_credentials> parse_google_token(std::string_view text, std::string_view from);

/// What a service account says of itself for a token, signed: a JWT (RFC 7519).
result<std::string> service_account_claim(std::string_view document, std::int64_t now,
                                          const rs256_signer& sign);

}  // namespace detail

}}  // namespace zarrpoint::v0

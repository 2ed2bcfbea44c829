// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/gcs/gcs_login.hpp>
#include <zarrpoint/interop/s3/credentials.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <chrono>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// ----------------------------------------------------------------------------------- gcs_login.hpp

ZARRPOINT_INLINE result<gcs_credentials> parse_google_token(std::string_view text,
                                                            std::string_view from) {
  ZARRPOINT_TRY(document, parse_key_document(text, from));
  gcs_credentials out{.token = text_member(document, "access_token")};
  if (out.token.empty()) return error{errc::corrupt, std::string(from) + " gave no token"};
  const json* const lasts = document.find("expires_in");
  const auto seconds = lasts == nullptr ? std::optional<std::int64_t>() : lasts->to_int64();
  out.expires = seconds_now() + std::clamp<std::int64_t>(seconds.value_or(0), 0, 86400);
  return out;
}

/// As JWT has it: other letters than those of MIME, and nothing at its end.
ZARRPOINT_INLINE std::string to_base64_url(std::string_view text) {
  std::string out = to_base64(std::as_bytes(std::span(text)));
  std::replace(out.begin(), out.end(), '+', '-');
  std::replace(out.begin(), out.end(), '/', '_');
  while (out.ends_with('=')) out.pop_back();
  return out;
}

inline constexpr std::string_view google_token_url = "https://oauth2.googleapis.com/token";

ZARRPOINT_INLINE std::string token_url_of(const json& document) {
  std::string url = text_member(document, "token_uri");
  return url.empty() ? std::string(google_token_url) : url;
}

ZARRPOINT_INLINE result<std::string> service_account_claim(std::string_view document,
                                                           std::int64_t now,
                                                           const rs256_signer& sign) {
  ZARRPOINT_TRY(account, parse_key_document(document, "the file of a service account"));
  const std::string email = text_member(account, "client_email");
  const std::string key = text_member(account, "private_key");
  if (email.empty() || key.empty())
    return error{errc::corrupt, "the file of a service account has no e-mail address or no key"};
  std::string head = R"({"alg":"RS256","typ":"JWT","kid":)";
  write_json_string(head, text_member(account, "private_key_id"));
  std::string claim = R"({"iss":)";
  write_json_string(claim, email);
  claim += R"(,"scope":"https://www.googleapis.com/auth/devstorage.read_write","aud":)";
  write_json_string(claim, token_url_of(account));
  claim += ",\"iat\":" + std::to_string(now) + ",\"exp\":" + std::to_string(now + 3600) + '}';
  std::string out = to_base64_url(head + '}') + '.' + to_base64_url(claim);
  ZARRPOINT_TRY(signature, sign(key, out));
  return out + '.' + to_base64_url(signature);
}

/// Exchanges what a file has for a token.
ZARRPOINT_INLINE result<gcs_credentials> exchange_for_token(const any_transport& by,
                                                            const std::string& url,
                                                            const query_list& form) {
  const auto to = web_url::parse(url);
  if (!to || !may_give_keys(*to))
    return error{errc::invalid_argument,
                 "token_uri of the file of credentials is not a URL of https"};
  const std::string text = canonical_query(form);
  const bytes_view body[] = {std::as_bytes(std::span(text))};
  ZARRPOINT_TRY(answer, body_of(by,
                                {.method = "POST",
                                 .url = url,
                                 .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                                 .body = body},
                                "Google's token service"));
  return parse_google_token(answer, "Google's token service");
}

ZARRPOINT_INLINE result<gcs_credentials> token_of_file(const any_transport& by,
                                                       const std::string& path,
                                                       const rs256_signer& sign) {
  const auto text = small_text(path);
  const std::string shown = printable(path, 200);
  if (!text)
    return error{errc::invalid_argument, "the file of credentials " + shown + " cannot be read"};
  ZARRPOINT_TRY(document, parse_key_document(*text, "the file of credentials " + shown));
  const std::string type = text_member(document, "type");
  if (type == "authorized_user") {
    ZARRPOINT_TRY(out,
                  exchange_for_token(by, token_url_of(document),
                                     {{"client_id", text_member(document, "client_id")},
                                      {"client_secret", text_member(document, "client_secret")},
                                      {"grant_type", "refresh_token"},
                                      {"refresh_token", text_member(document, "refresh_token")}}));
    out.quota_project = text_member(document, "quota_project_id");
    return out;
  }
  if (type == "service_account") {
    if (!sign)
      return error{errc::unsupported,
                   "the file of credentials " + shown +
                       " is of a service account, which signs by RSA: give openssl_rs256 of "
                       "<zarrpoint/gcs_openssl.hpp> to gcs_login::automatic"};
    ZARRPOINT_TRY(claim, service_account_claim(*text, seconds_now(), sign));
    return exchange_for_token(
        by, token_url_of(document),
        {{"assertion", claim}, {"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"}});
  }
  return error{errc::unsupported, "the file of credentials " + shown + " is of the type \"" +
                                      printable(type, 60) +
                                      "\"; let GOOGLE_OAUTH_ACCESS_TOKEN have what `gcloud auth "
                                      "application-default print-access-token` prints"};
}

/// Of this machine, where it is one of Google's: it answers within a moment, or it is none.
ZARRPOINT_INLINE result<std::optional<gcs_credentials>> token_of_machine(const any_transport& by) {
  std::string host = environment_value("GCE_METADATA_HOST");
  if (host.empty()) host = "169.254.169.254";
  const auto answer = by.send(
      {.url = "http://" + host + "/computeMetadata/v1/instance/service-accounts/default/token",
       .headers = {{"Metadata-Flavor", "Google"}},
       .times = times_of_machine,
       .is_direct = true});
  // Other clouds have something else there.
  if (!answer || answer->header("Metadata-Flavor") != "Google")
    return std::optional<gcs_credentials>();
  if (answer->status == 404) return std::optional<gcs_credentials>();
  if (answer->status != 200 || !answer->whole())
    return error{errc::unavailable, "the metadata server of this machine answered with status " +
                                        std::to_string(answer->status)};
  ZARRPOINT_TRY(out, parse_google_token(answer->text, "the metadata server of this machine"));
  return std::optional(std::move(out));
}

/// `is_machine`: see `of_machine`.
ZARRPOINT_INLINE result<gcs_credentials> find_google_token(const any_transport& by,
                                                           const rs256_signer& sign,
                                                           bool& is_machine) {
  for (const char* name : {"GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN"}) {
    if (std::string given = environment_value(name); !given.empty())
      return gcs_credentials{.token = std::move(given)};
  }
  if (const std::string named = environment_value("GOOGLE_APPLICATION_CREDENTIALS"); !named.empty())
    return token_of_file(by, named, sign);
  if (!environment_value("STORAGE_EMULATOR_HOST").empty()) return gcs_credentials();
  std::string folder = environment_value("CLOUDSDK_CONFIG");
  if (folder.empty()) folder = environment_value("HOME") + "/.config/gcloud";
  const std::string usual = folder + "/application_default_credentials.json";
  if (small_text(usual)) return token_of_file(by, usual, sign);
  ZARRPOINT_TRY(found, of_machine(by, is_machine, &token_of_machine));
  if (found) return *std::move(found);
  return error{errc::invalid_argument,
               "no credentials of Google were found in the environment, the file of `gcloud auth "
               "application-default login` and the machine; give them, or say "
               "gcs_login::anonymous() for public data"};
}

}  // namespace detail

ZARRPOINT_INLINE gcs_login gcs_login::from(source by) {
  return gcs_login(detail::make_counted<state>(std::move(by)));
}

ZARRPOINT_INLINE gcs_login gcs_login::anonymous() { return gcs_login(nullptr); }

ZARRPOINT_INLINE gcs_login gcs_login::automatic(rs256_signer sign) {
  return from([sign = std::move(sign), is_machine = false](const any_transport& by) mutable {
    return detail::find_google_token(by, sign, is_machine);
  });
}

ZARRPOINT_INLINE gcs_login gcs_login::token(std::string bearer) {
  return from([bearer = std::move(bearer)](const any_transport&) -> result<gcs_credentials> {
    return gcs_credentials{.token = bearer};
  });
}

ZARRPOINT_INLINE gcs_login gcs_login::hmac(std::string access_key, std::string secret_key) {
  gcs_login out = from([access = std::move(access_key), secret = std::move(secret_key)](
                           const any_transport&) -> result<gcs_credentials> {
    return gcs_credentials{.access_key = access, .secret_key = secret};
  });
  out.is_hmac_ = true;
  return out;
}

ZARRPOINT_INLINE gcs_login gcs_login::file(std::string path, rs256_signer sign) {
  return from([path = std::move(path), sign = std::move(sign)](const any_transport& by) {
    return detail::token_of_file(by, path, sign);
  });
}

ZARRPOINT_INLINE result<gcs_credentials> gcs_login::keys(const any_transport& by) const {
  if (is_anonymous()) return gcs_credentials();
  return state_->now(by);
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/core/bodies.hpp>
#include <zarrpoint/interop/s3/credentials_bodies.hpp>
#include <zarrpoint/interop/s3/sign_bodies.hpp>
#include <zarrpoint/store/remote/bodies.hpp>
#include <zarrpoint/zarr/json/bodies.hpp>
#endif

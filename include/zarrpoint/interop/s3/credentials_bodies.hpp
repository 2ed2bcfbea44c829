// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/s3/credentials.hpp>
#include <zarrpoint/interop/s3/xml_reader.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// --------------------------------------------------------------------------------- credentials.hpp

ZARRPOINT_INLINE std::string environment_value(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

ZARRPOINT_INLINE std::optional<std::string> small_text(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return {};
  std::string text(std::size_t{1} << 20, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

ZARRPOINT_INLINE std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

ZARRPOINT_INLINE query_list ini_section(std::string_view text, std::string_view section) {
  query_list out;
  bool inside = false;
  while (!text.empty()) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
    const std::string_view line = trimmed(whole);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      inside = trimmed(line.substr(1, line.find(']') - 1)) == section;
      continue;
    }
    // A line that is indented belongs to the value above it, such as the settings of `s3 =`.
    const std::size_t mark = line.find('=');
    if (!inside || mark == line.npos || whole.front() == ' ' || whole.front() == '\t') continue;
    out.emplace_back(trimmed(line.substr(0, mark)), trimmed(line.substr(mark + 1)));
  }
  return out;
}

ZARRPOINT_INLINE std::string profile_name(std::string_view asked) {
  if (!asked.empty()) return std::string(asked);
  std::string name = environment_value("AWS_PROFILE");
  return name.empty() ? "default" : name;
}

ZARRPOINT_INLINE query_list aws_profile(std::string_view asked) {
  const std::string name = profile_name(asked), home = environment_value("HOME");
  const auto text = [&](const char* variable, const char* usual) {
    const std::string other = environment_value(variable);
    return small_text(other.empty() ? home + usual : other).value_or("");
  };
  query_list out = ini_section(text("AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials"), name);
  const std::string config = text("AWS_CONFIG_FILE", "/.aws/config");
  for (auto& one : ini_section(config, name == "default" ? name : "profile " + name))
    out.push_back(std::move(one));
  return out;
}

ZARRPOINT_INLINE std::string setting_of(const query_list& in, std::string_view name) {
  for (const auto& [key, value] : in) {
    if (key == name) return value;
  }
  return {};
}

ZARRPOINT_INLINE std::string aws_region(std::string_view profile) {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (std::string value = environment_value(name); !value.empty()) return value;
  }
  std::string value = setting_of(aws_profile(profile), "region");
  return value.empty() ? "us-east-1" : value;
}

ZARRPOINT_INLINE std::optional<std::int64_t> parse_iso_time(std::string_view text) {
  // 2026-11-28T12:00:00Z, with a fraction or +00:00 at the end
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':')
    return {};
  const auto number = [&](std::size_t at, std::size_t size) {
    int value = 0;
    for (const char c : text.substr(at, size)) {
      if (c < '0' || c > '9') return -1;
      value = 10 * value + (c - '0');
    }
    return value;
  };
  const int year = number(0, 4), month = number(5, 2), day = number(8, 2), hour = number(11, 2),
            minute = number(14, 2), second = number(17, 2);
  if (year < 0 || month < 0 || day < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
      second < 0 || second > 60)
    return {};
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return {};
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 86400 + hour * 3600 + minute * 60 + second;
}

ZARRPOINT_INLINE result<node> parse_key_document(std::string_view text, std::string_view from) {
  auto document =
      parse_json(std::as_bytes(std::span(text)), {.max_bytes = 1 << 20, .max_depth = 8});
  if (document && document->if_object() != nullptr) return document;
  return error{errc::corrupt, std::string(from) + " is not a JSON document"};
}

ZARRPOINT_INLINE std::string text_member(const node& document, std::string_view name) {
  const node* const member = document.find(name);
  const std::string* const held = member == nullptr ? nullptr : member->if_string();
  return held == nullptr ? std::string() : *held;
}

ZARRPOINT_INLINE result<aws_credentials> parse_aws_keys(std::string_view text,
                                                        std::string_view from) {
  ZARRPOINT_TRY(document, parse_key_document(text, from));
  aws_credentials out{.access_key = text_member(document, "AccessKeyId"),
                      .secret_key = text_member(document, "SecretAccessKey"),
                      .session_token = text_member(document, "SessionToken"),
                      .expires = parse_iso_time(text_member(document, "Expiration"))};
  if (out.session_token.empty()) out.session_token = text_member(document, "Token");
  if (out.access_key.empty() || out.secret_key.empty())
    return error{errc::corrupt, std::string(from) + " gave no JSON document with keys"};
  return out;
}

ZARRPOINT_INLINE result<std::string> body_of(const any_transport& by, const http_request& request,
                                             std::string_view what) {
  auto answer = by.send(request);
  if (!answer) return std::move(answer).failure().at(what);
  if (answer->status != 200 || !answer->whole())
    return error{errc::unavailable,
                 std::string(what) + " answered with status " + std::to_string(answer->status)};
  return std::move(answer->text);
}

/// One place to look for keys: nothing where they are not there.
using found_keys = result<std::optional<aws_credentials>>;

ZARRPOINT_INLINE found_keys keys_of_environment() {
  aws_credentials out{.access_key = environment_value("AWS_ACCESS_KEY_ID"),
                      .secret_key = environment_value("AWS_SECRET_ACCESS_KEY"),
                      .session_token = environment_value("AWS_SESSION_TOKEN")};
  if (out.access_key.empty() || out.secret_key.empty()) return std::optional<aws_credentials>();
  return std::optional(std::move(out));
}

ZARRPOINT_INLINE found_keys keys_of_web_identity(const any_transport& by) {
  const std::string file = environment_value("AWS_WEB_IDENTITY_TOKEN_FILE");
  const std::string role = environment_value("AWS_ROLE_ARN");
  if (file.empty() || role.empty()) return std::optional<aws_credentials>();
  const auto token = small_text(file);
  if (!token)
    return error{errc::invalid_argument,
                 "the file that AWS_WEB_IDENTITY_TOKEN_FILE names cannot be read"};
  std::string session = environment_value("AWS_ROLE_SESSION_NAME");
  if (session.empty()) session = "zarrpoint";
  std::string url = environment_value("AWS_ENDPOINT_URL_STS");
  if (url.empty()) url = "https://sts." + aws_region({}) + ".amazonaws.com";
  const std::string form = canonical_query({{"Action", "AssumeRoleWithWebIdentity"},
                                            {"Version", "2011-06-15"},
                                            {"RoleArn", role},
                                            {"RoleSessionName", session},
                                            {"WebIdentityToken", std::string(trimmed(*token))}});
  const bytes_view body[] = {std::as_bytes(std::span(form))};
  ZARRPOINT_TRY(text, body_of(by,
                              {.method = "POST",
                               .url = url + "/",
                               .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                               .body = body},
                              "AssumeRoleWithWebIdentity"));
  aws_credentials out;
  ZARRPOINT_CHECK(for_each_xml_text(text, [&](std::string_view path, std::string& value) {
    if (path.ends_with("/Credentials/AccessKeyId")) out.access_key = value;
    if (path.ends_with("/Credentials/SecretAccessKey")) out.secret_key = value;
    if (path.ends_with("/Credentials/SessionToken")) out.session_token = value;
    if (path.ends_with("/Credentials/Expiration")) out.expires = parse_iso_time(value);
  }));
  if (out.access_key.empty() || out.secret_key.empty())
    return error{errc::corrupt, "AssumeRoleWithWebIdentity gave no keys"};
  return std::optional(std::move(out));
}

ZARRPOINT_INLINE bool may_give_keys(const web_url& from) {
  return from.scheme == "https" || from.host == "localhost" || from.host.starts_with("127.") ||
         from.host == "[::1]" || from.host.starts_with("169.254.170.") ||
         from.host == "[fd00:ec2::23]";
}

ZARRPOINT_INLINE found_keys keys_of_container(const any_transport& by) {
  const std::string relative = environment_value("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  std::string url = environment_value("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!relative.empty()) url = "http://169.254.170.2" + relative;
  if (url.empty()) return std::optional<aws_credentials>();
  const auto parts = web_url::parse(url);
  if (!parts || !may_give_keys(*parts))
    return error{errc::invalid_argument,
                 "AWS_CONTAINER_CREDENTIALS_FULL_URI names a host that keys are not taken from: "
                 "use https, or an address of this machine"};
  http_request request{.url = url, .times = {.connect = std::chrono::milliseconds(1000)}};
  std::string token = environment_value("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string file = environment_value("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
      !file.empty())
    token = trimmed(small_text(file).value_or(""));
  if (!token.empty()) request.headers.push_back({"Authorization", token});
  ZARRPOINT_TRY(text, body_of(by, request, "the container's source of credentials"));
  ZARRPOINT_TRY(keys, parse_aws_keys(text, "the container's source of credentials"));
  return std::optional(std::move(keys));
}

/// What a command prints. Errors: `unavailable`.
ZARRPOINT_INLINE result<std::string> output_of(const std::string& command) {
  std::FILE* const from = ::popen(command.c_str(), "re");
  std::string text(std::size_t{64} << 10, '\0');
  if (from != nullptr) text.resize(std::fread(text.data(), 1, text.size(), from));
  if (from == nullptr || ::pclose(from) != 0)
    return error{errc::unavailable, "credential_process of the profile failed"};
  return text;
}

ZARRPOINT_INLINE found_keys keys_of_profile(std::string_view asked) {
  const query_list profile = aws_profile(asked);
  aws_credentials out{.access_key = setting_of(profile, "aws_access_key_id"),
                      .secret_key = setting_of(profile, "aws_secret_access_key"),
                      .session_token = setting_of(profile, "aws_session_token")};
  if (!out.access_key.empty() && !out.secret_key.empty()) return std::optional(std::move(out));
  const std::string name = printable(profile_name(asked), 100);
  if (const std::string command = setting_of(profile, "credential_process"); !command.empty()) {
    ZARRPOINT_TRY(text, output_of(command));
    ZARRPOINT_TRY(keys, parse_aws_keys(text, "credential_process of the profile " + name));
    return std::optional(std::move(keys));
  }
  for (const char* other : {"sso_session", "sso_start_url", "role_arn", "login_session"}) {
    if (!setting_of(profile, other).empty())
      return error{errc::unsupported,
                   std::string("the profile ")
                       .append(name)
                       .append(" signs in by ")
                       .append(other)
                       .append("; set `credential_process = aws configure export-credentials "
                               "--profile ")
                       .append(name)
                       .append("` in another profile, and use that")};
  }
  if (profile.empty() && (!asked.empty() || !environment_value("AWS_PROFILE").empty()))
    return error{errc::invalid_argument, "there is no profile " + name + " in ~/.aws"};
  return std::optional<aws_credentials>();
}

/// Of this machine, where it is one of EC2: it answers within a moment, or it is none.
ZARRPOINT_INLINE found_keys keys_of_machine(const any_transport& by) {
  const std::string off = environment_value("AWS_EC2_METADATA_DISABLED");
  if (off == "true" || off == "True" || off == "TRUE") return std::optional<aws_credentials>();
  std::string base = environment_value("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (base.empty()) base = "http://169.254.169.254";
  while (base.ends_with('/')) base.pop_back();
  constexpr std::chrono::milliseconds moment(300);
  const http_times times{.connect = moment, .stall = moment, .total = moment};
  auto token = body_of(by,
                       {.method = "PUT",
                        .url = base + "/latest/api/token",
                        .headers = {{"x-aws-ec2-metadata-token-ttl-seconds", "21600"}},
                        .times = times},
                       "IMDS");
  if (!token) return std::optional<aws_credentials>();
  const auto get = [&](const std::string& path) {
    return body_of(by,
                   {.url = base + "/latest/meta-data/iam/security-credentials/" + path,
                    .headers = {{"x-aws-ec2-metadata-token", *token}},
                    .times = {.connect = moment}},
                   "IMDS");
  };
  ZARRPOINT_TRY(roles, get(""));
  const std::string_view role = trimmed(std::string_view(roles).substr(0, roles.find('\n')));
  ZARRPOINT_TRY(text, get(percent_encode(role)));
  ZARRPOINT_TRY(keys, parse_aws_keys(text, "IMDS"));
  return std::optional(std::move(keys));
}

ZARRPOINT_INLINE result<aws_credentials> find_aws_keys(const any_transport& by,
                                                       const std::string& profile) {
  // A profile that the caller names is asked first: as with AWS' tools.
  if (!profile.empty()) {
    ZARRPOINT_TRY(found, keys_of_profile(profile));
    if (found) return *std::move(found);
  }
  using look = found_keys (*)(const any_transport&);
  constexpr look places[] = {[](const any_transport&) { return keys_of_environment(); },
                             &keys_of_web_identity, &keys_of_container,
                             [](const any_transport&) { return keys_of_profile({}); },
                             &keys_of_machine};
  for (const look one : places) {
    ZARRPOINT_TRY(found, one(by));
    if (found) return *std::move(found);
  }
  return error{errc::invalid_argument,
               "no AWS credentials were found in the environment, a web identity, a container, "
               "~/.aws and the machine; give them, or say aws_login::anonymous() for public data"};
}

}  // namespace detail

ZARRPOINT_INLINE aws_login aws_login::from(source by) {
  return aws_login(detail::make_counted<state>(std::move(by)));
}

ZARRPOINT_INLINE aws_login aws_login::anonymous() { return aws_login(nullptr); }

ZARRPOINT_INLINE aws_login aws_login::given(aws_credentials keys) {
  return from(
      [keys = std::move(keys)](const any_transport&) -> result<aws_credentials> { return keys; });
}

ZARRPOINT_INLINE aws_login aws_login::environment() {
  return from([](const any_transport&) -> result<aws_credentials> {
    ZARRPOINT_TRY(found, detail::keys_of_environment());
    if (found) return *std::move(found);
    return error{errc::invalid_argument,
                 "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set in the environment"};
  });
}

ZARRPOINT_INLINE aws_login aws_login::automatic(std::string profile) {
  return from([profile = std::move(profile)](const any_transport& by) {
    return detail::find_aws_keys(by, profile);
  });
}

ZARRPOINT_INLINE result<aws_credentials> aws_login::keys(const any_transport& by) const {
  if (is_anonymous()) return aws_credentials();
  return state_->now(by);
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/core/bodies.hpp>
#include <zarrpoint/interop/s3/sign_bodies.hpp>
#include <zarrpoint/store/remote/bodies.hpp>
#include <zarrpoint/zarr/json/bodies.hpp>
#endif

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/s3/credentials.hpp>
#include <zarrpoint/interop/s3/sha256.hpp>
#include <zarrpoint/interop/s3/xml_reader.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

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

ZARRPOINT_INLINE std::string aws_file(const char* variable, const char* usual) {
  const std::string other = environment_value(variable);
  return small_text(other.empty() ? environment_value("HOME") + usual : other).value_or("");
}

ZARRPOINT_INLINE query_list aws_config_section(const std::string& section) {
  return ini_section(aws_file("AWS_CONFIG_FILE", "/.aws/config"), section);
}

ZARRPOINT_INLINE query_list aws_profile(std::string_view asked) {
  const std::string name = profile_name(asked);
  query_list out = ini_section(aws_file("AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials"), name);
  for (auto& one : aws_config_section(name == "default" ? name : "profile " + name))
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
  return seconds_of(text.substr(0, 4), whole_number(text.substr(5, 2)).value_or(0),
                    text.substr(8, 2), text.substr(11, 8));
}

ZARRPOINT_INLINE result<json> parse_key_document(std::string_view text, std::string_view from) {
  auto document =
      parse_json(std::as_bytes(std::span(text)), {.max_bytes = 1 << 20, .max_depth = 8});
  if (document && document->if_object() != nullptr) return document;
  return error{errc::corrupt, std::string(from) + " is not a JSON document"};
}

ZARRPOINT_INLINE std::string text_member(const json& document, std::string_view name) {
  const std::string* const held = document.find_string(name);
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

/// Those that stand in a profile itself.
ZARRPOINT_INLINE std::optional<aws_credentials> stored_keys(const query_list& profile) {
  aws_credentials out{.access_key = setting_of(profile, "aws_access_key_id"),
                      .secret_key = setting_of(profile, "aws_secret_access_key"),
                      .session_token = setting_of(profile, "aws_session_token")};
  if (out.access_key.empty() || out.secret_key.empty()) return {};
  return out;
}

ZARRPOINT_INLINE found_keys keys_of_environment() {
  aws_credentials out{.access_key = environment_value("AWS_ACCESS_KEY_ID"),
                      .secret_key = environment_value("AWS_SECRET_ACCESS_KEY"),
                      .session_token = environment_value("AWS_SESSION_TOKEN")};
  if (out.access_key.empty() || out.secret_key.empty()) return std::optional<aws_credentials>();
  return std::optional(std::move(out));
}

ZARRPOINT_INLINE bool may_give_keys(const web_url& from) {
  // A name may begin as an address does.
  const bool is_address = from.host.find_first_not_of("0123456789.") == from.host.npos;
  return from.scheme == "https" || from.host == "localhost" || from.host == "[::1]" ||
         from.host == "[fd00:ec2::23]" ||
         (is_address && (from.host.starts_with("127.") || from.host.starts_with("169.254.170.")));
}

/// The URL of a service that gets a token and gives keys: that of the variable, else `usual`.
ZARRPOINT_INLINE result<std::string> key_service(const char* variable, std::string usual) {
  std::string url = environment_value(variable);
  if (url.empty()) return usual;
  const auto parts = web_url::parse(url);
  if (parts && may_give_keys(*parts)) return url;
  return error{errc::invalid_argument,
               std::string(variable) +
                   " names a host that keys are not taken from: use https, or an address of this "
                   "machine"};
}

/// Keys of a role, by a form for STS, which `signer` signs unless it has no keys.
ZARRPOINT_INLINE found_keys keys_of_role(const any_transport& by, query_list form,
                                         const aws_credentials& signer) {
  form.emplace_back("Version", "2011-06-15");
  const std::string action = form.front().second, region = aws_region({});
  ZARRPOINT_TRY(
      url, key_service("AWS_ENDPOINT_URL_STS",
                       "https://sts." + region +
                           (region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com")));
  const std::string body_text = canonical_query(form);
  const bytes_view body[] = {std::as_bytes(std::span(body_text))};
  http_request request{.method = "POST",
                       .url = url + "/",
                       .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                       .body = body};
  if (!signer.access_key.empty())
    sign_v4(request, to_hex(sha256_of(body_text)), signer,
            {.region = region, .service = "sts", .now = seconds_now()});
  ZARRPOINT_TRY(text, body_of(by, request, action));
  aws_credentials out;
  ZARRPOINT_CHECK(for_each_xml_text(text, [&](std::string_view path, std::string& value) {
    if (path.ends_with("/Credentials/AccessKeyId")) out.access_key = value;
    if (path.ends_with("/Credentials/SecretAccessKey")) out.secret_key = value;
    if (path.ends_with("/Credentials/SessionToken")) out.session_token = value;
    if (path.ends_with("/Credentials/Expiration")) out.expires = parse_iso_time(value);
  }));
  if (out.access_key.empty() || out.secret_key.empty())
    return error{errc::corrupt, action + " gave no keys"};
  return std::optional(std::move(out));
}

ZARRPOINT_INLINE found_keys keys_of_web_token(const any_transport& by, const std::string& file,
                                              const std::string& role, std::string session) {
  const auto token = small_text(file);
  if (!token)
    return error{errc::invalid_argument,
                 "the file of the token of a web identity (AWS_WEB_IDENTITY_TOKEN_FILE) cannot be "
                 "read"};
  if (session.empty()) session = "zarrpoint";
  return keys_of_role(by,
                      {{"Action", "AssumeRoleWithWebIdentity"},
                       {"RoleArn", role},
                       {"RoleSessionName", session},
                       {"WebIdentityToken", std::string(trimmed(*token))}},
                      {});
}

ZARRPOINT_INLINE found_keys keys_of_web_identity(const any_transport& by) {
  const std::string file = environment_value("AWS_WEB_IDENTITY_TOKEN_FILE");
  const std::string role = environment_value("AWS_ROLE_ARN");
  if (file.empty() || role.empty()) return std::optional<aws_credentials>();
  return keys_of_web_token(by, file, role, environment_value("AWS_ROLE_SESSION_NAME"));
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
  http_request request{.url = url,
                       .times = {.connect = std::chrono::milliseconds(1000)},
                       .is_direct = parts->scheme == "http"};
  std::string token = environment_value("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string file = environment_value("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
      !file.empty())
    token = trimmed(small_text(file).value_or(""));
  if (!token.empty()) request.headers.push_back({"Authorization", token});
  ZARRPOINT_TRY(text, body_of(by, request, "the container's source of credentials"));
  ZARRPOINT_TRY(keys, parse_aws_keys(text, "the container's source of credentials"));
  return std::optional(std::move(keys));
}

/// Of this machine, where it is one of EC2: it answers within a moment, or it is none.
ZARRPOINT_INLINE found_keys keys_of_machine(const any_transport& by) {
  const std::string off = environment_value("AWS_EC2_METADATA_DISABLED");
  if (off == "true" || off == "True" || off == "TRUE") return std::optional<aws_credentials>();
  std::string base = environment_value("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (base.empty()) base = "http://169.254.169.254";
  while (base.ends_with('/')) base.pop_back();
  auto token = body_of(by,
                       {.method = "PUT",
                        .url = base + "/latest/api/token",
                        .headers = {{"x-aws-ec2-metadata-token-ttl-seconds", "21600"}},
                        .times = times_of_machine,
                        .is_direct = true},
                       "IMDS");
  if (!token) return std::optional<aws_credentials>();
  const auto get = [&](const std::string& path) {
    return body_of(by,
                   {.url = base + "/latest/meta-data/iam/security-credentials/" + path,
                    .headers = {{"x-aws-ec2-metadata-token", *token}},
                    .times = times_of_machine,
                    .is_direct = true},
                   "IMDS");
  };
  ZARRPOINT_TRY(roles, get(""));
  const std::string_view role = trimmed(std::string_view(roles).substr(0, roles.find('\n')));
  ZARRPOINT_TRY(text, get(percent_encode(role)));
  ZARRPOINT_TRY(keys, parse_aws_keys(text, "IMDS"));
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

/// The token that `aws sso login` has left for a start URL, if it has not ended.
ZARRPOINT_INLINE std::string sso_token(const std::string& start_url) {
  std::error_code fault;
  std::filesystem::directory_iterator at(environment_value("HOME") + "/.aws/sso/cache", fault);
  for (; !fault && at != std::filesystem::directory_iterator(); at.increment(fault)) {
    if (at->path().extension() != ".json") continue;
    const auto document = parse_key_document(small_text(at->path().string()).value_or(""), "it");
    if (!document || text_member(*document, "startUrl") != start_url) continue;
    const auto ends = parse_iso_time(text_member(*document, "expiresAt"));
    std::string token = text_member(*document, "accessToken");
    if (!token.empty() && ends && *ends > seconds_now()) return token;
  }
  return {};
}

/// Keys of the role of a profile that signs in by SSO: GetRoleCredentials, with the token that
/// `aws sso login` has got.
ZARRPOINT_INLINE found_keys keys_of_sso(const any_transport& by, query_list profile,
                                        const std::string& name) {
  if (const std::string session = setting_of(profile, "sso_session"); !session.empty()) {
    for (auto& one : aws_config_section("sso-session " + session))
      profile.push_back(std::move(one));
  }
  const std::string token = sso_token(setting_of(profile, "sso_start_url"));
  if (token.empty())
    return error{errc::unavailable, "the profile " + name +
                                        " is not signed in, or no longer: run " +
                                        "`aws sso login --profile " + name + '`'};
  ZARRPOINT_TRY(url, key_service("AWS_ENDPOINT_URL_SSO", "https://portal.sso." +
                                                             setting_of(profile, "sso_region") +
                                                             ".amazonaws.com"));
  const http_request request{
      .url = url + "/federation/credentials?" +
             canonical_query({{"account_id", setting_of(profile, "sso_account_id")},
                              {"role_name", setting_of(profile, "sso_role_name")}}),
      .headers = {{"x-amz-sso_bearer_token", token}}};
  ZARRPOINT_TRY(text, body_of(by, request, "GetRoleCredentials"));
  ZARRPOINT_TRY(document, parse_key_document(text, "GetRoleCredentials"));
  const json* const keys = document.find("roleCredentials");
  if (keys == nullptr || keys->if_object() == nullptr)
    return error{errc::corrupt, "GetRoleCredentials gave no keys"};
  aws_credentials out{.access_key = text_member(*keys, "accessKeyId"),
                      .secret_key = text_member(*keys, "secretAccessKey"),
                      .session_token = text_member(*keys, "sessionToken")};
  const json* const ends = keys->find("expiration");
  const auto milliseconds = ends == nullptr ? std::optional<std::int64_t>() : ends->to_int64();
  if (milliseconds) out.expires = *milliseconds / 1000;
  if (out.access_key.empty() || out.secret_key.empty())
    return error{errc::corrupt, "GetRoleCredentials gave no keys"};
  return std::optional(std::move(out));
}

ZARRPOINT_INLINE found_keys keys_of_profile(const any_transport& by, std::string_view asked,
                                            int depth = 0);

/// Keys of the role that a profile assumes, with those of another profile or another source.
ZARRPOINT_INLINE found_keys keys_of_assumed(const any_transport& by, const query_list& profile,
                                            const std::string& name, int depth) {
  const auto refuse = [&](const std::string& why) {
    return error{errc::invalid_argument, "the profile " + name + ' ' + why};
  };
  if (depth > 4) return refuse("assumes a role by a chain of profiles that does not end");
  if (!setting_of(profile, "mfa_serial").empty())
    return error{errc::unsupported,
                 "the profile " + name +
                     " asks for a code of a device; set `credential_process = aws configure "
                     "export-credentials --profile " +
                     name + "` in another profile, and use that"};
  const std::string role = setting_of(profile, "role_arn");
  const std::string session = setting_of(profile, "role_session_name");
  if (const std::string file = setting_of(profile, "web_identity_token_file"); !file.empty())
    return keys_of_web_token(by, file, role, session);
  const std::string from = setting_of(profile, "source_profile");
  const std::string source = setting_of(profile, "credential_source");
  found_keys signer = std::optional<aws_credentials>();
  if (!from.empty() && from == profile_name(name)) {
    signer = stored_keys(profile);
  } else if (!from.empty()) {
    signer = keys_of_profile(by, from, depth + 1);
  } else if (source == "Environment") {
    signer = keys_of_environment();
  } else if (source == "EcsContainer") {
    signer = keys_of_container(by);
  } else if (source == "Ec2InstanceMetadata") {
    signer = keys_of_machine(by);
  }
  if (!signer) return std::move(signer).failure();
  if (!*signer)
    return refuse(
        "assumes a role, and no keys are found by its source_profile or "
        "credential_source");
  query_list form = {{"Action", "AssumeRole"},
                     {"RoleArn", role},
                     {"RoleSessionName", session.empty() ? "zarrpoint" : session}};
  for (const auto& [setting, field] :
       {std::pair("external_id", "ExternalId"), std::pair("duration_seconds", "DurationSeconds")}) {
    if (std::string value = setting_of(profile, setting); !value.empty())
      form.emplace_back(field, std::move(value));
  }
  return keys_of_role(by, std::move(form), **signer);
}

ZARRPOINT_INLINE found_keys keys_of_profile(const any_transport& by, std::string_view asked,
                                            int depth) {
  const query_list profile = aws_profile(asked);
  const std::string name = printable(profile_name(asked), 100);
  if (!setting_of(profile, "role_arn").empty()) return keys_of_assumed(by, profile, name, depth);
  if (auto out = stored_keys(profile)) return out;
  if (const std::string command = setting_of(profile, "credential_process"); !command.empty()) {
    ZARRPOINT_TRY(text, output_of(command));
    ZARRPOINT_TRY(keys, parse_aws_keys(text, "credential_process of the profile " + name));
    return std::optional(std::move(keys));
  }
  if (!setting_of(profile, "sso_session").empty() || !setting_of(profile, "sso_start_url").empty())
    return keys_of_sso(by, profile, name);
  if (profile.empty() && (!asked.empty() || !environment_value("AWS_PROFILE").empty()))
    return error{errc::invalid_argument, "there is no profile " + name + " in ~/.aws"};
  return std::optional<aws_credentials>();
}

/// `is_machine`: see `of_machine`.
ZARRPOINT_INLINE result<aws_credentials> find_aws_keys(const any_transport& by,
                                                       const std::string& profile,
                                                       bool& is_machine) {
  // A profile that the caller names is asked first: as with AWS' tools.
  if (!profile.empty()) {
    ZARRPOINT_TRY(found, keys_of_profile(by, profile));
    if (found) return *std::move(found);
  }
  using look = found_keys (*)(const any_transport&);
  constexpr look places[] = {[](const any_transport&) { return keys_of_environment(); },
                             &keys_of_web_identity, &keys_of_container,
                             [](const any_transport& of) { return keys_of_profile(of, {}); }};
  for (const look one : places) {
    ZARRPOINT_TRY(found, one(by));
    if (found) return *std::move(found);
  }
  ZARRPOINT_TRY(found, of_machine(by, is_machine, &keys_of_machine));
  if (found) return *std::move(found);
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
  return from([profile = std::move(profile), is_machine = false](const any_transport& by) mutable {
    return detail::find_aws_keys(by, profile, is_machine);
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

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/s3/renewed_keys.hpp>
#include <zarrpoint/interop/s3/sigv4.hpp>
#include <zarrpoint/store/remote/transport.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

// Where the keys of a store come from.

namespace zarrpoint { inline namespace v0 {

/// Where a store has its keys from: a handle, whose copies share what was found. Keys that end are
/// asked for anew 5 minutes before, by one thread, while the others go on with those that they
/// have. They belong to the store that has this, and to no other one of the process.
class aws_login {
 public:
  /// Gives keys, each time that it is asked. Errors name no key.
  using source = std::function<result<aws_credentials>(const any_transport& by)>;

  /// As AWS' own tools look for keys, and the first that is there. They are the environment, a web
  /// identity, a container's, a profile of `~/.aws`, the machine's (IMDSv2, connected within 300
  /// ms).
  aws_login() : aws_login(automatic()) {}
  static aws_login automatic(std::string profile = {});

  /// Requests are not signed, and no keys are looked for.
  static aws_login anonymous();
  static aws_login given(aws_credentials keys);
  /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN` alone.
  static aws_login environment();
  /// From a program's own source.
  static aws_login from(source by);

  bool is_anonymous() const noexcept { return state_ == nullptr; }

  /// The keys for a request of now. Errors: `invalid_argument` where none are found, with where
  /// they were looked for; those of the source.
  result<aws_credentials> keys(const any_transport& by) const;

 private:
  using state = detail::renewed_keys<aws_credentials>;
  explicit aws_login(std::shared_ptr<state> of) : state_(std::move(of)) {}

  std::shared_ptr<state> state_;
};

namespace detail {

/// A value of an environment variable, or an empty text.
std::string environment_value(const char* name);

/// A profile of `~/.aws/credentials` and `~/.aws/config`: names and values, those of the former
/// first. The profile that is named, else that of `AWS_PROFILE`, else `default`.
query_list aws_profile(std::string_view name);
/// One section of such a file.
query_list ini_section(std::string_view text, std::string_view section);

/// The region that the environment or the profile names; else `us-east-1`.
std::string aws_region(std::string_view profile);

/// A JSON document that has keys or leads to them. Errors: `corrupt`, without the document.
result<json> parse_key_document(std::string_view text, std::string_view from);
/// A member of one that is a text; else an empty one.
std::string text_member(const json& document, std::string_view name);

/// The keys in a JSON document as `credential_process`, containers and IMDS give them. Errors:
/// `corrupt`, without the document.
result<aws_credentials> parse_aws_keys(std::string_view text, std::string_view from);

/// What a small file has, up to 1 MiB; nothing where it cannot be read.
std::optional<std::string> small_text(const std::string& path);
/// The body of an answer of status 200. Errors: `unavailable` and those of the transport; they say
/// nothing of the body.
result<std::string> body_of(const any_transport& by, const http_request& request,
                            std::string_view what);
/// Whether keys may be asked for there, or sent: over TLS, or on this machine and its links.
bool may_give_keys(const web_url& from);

/// How long the service of this machine is waited for: it is there within a moment, or there is
/// none. What it gives may take longer.
inline constexpr http_times times_of_machine{.connect = std::chrono::milliseconds(300),
                                             .stall = std::chrono::milliseconds(5000),
                                             .total = std::chrono::milliseconds(5000)};

/// What `look` finds on this machine. Where `is_machine` says that it gave something before, it is
/// asked up to three times; `is_machine` says so afterwards. Errors: `unavailable`.
template <class Keys>
result<std::optional<Keys>> of_machine(const any_transport& by, bool& is_machine,
                                       result<std::optional<Keys>> (*look)(const any_transport&)) {
  for (int turn = 1;; ++turn) {
    auto found = look(by);
    if (found && *found) is_machine = true;
    if (!is_machine || (found && *found)) return found;
    if (turn < 3) continue;
    return error{errc::unavailable,
                 "this machine gave credentials before, and gives none now; try again later"};
  }
}

/// A time as `2026-11-28T12:00:00Z`, in seconds since 1970; the fraction is left out.
std::optional<std::int64_t> parse_iso_time(std::string_view text);

}  // namespace detail

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// URLs of http and https, and the dates that their headers have.

namespace zarrpoint { inline namespace v0 {

/// An absolute URL of `http` or `https`, in parts (RFC 3986). All parts but the host stay encoded,
/// as they go over the wire.
struct web_url {
  std::string scheme;      ///< in lower case
  std::string user{};      ///< what stands before `@`: credentials
  std::string host{};      ///< in lower case; an IPv6 address has its brackets
  std::uint16_t port = 0;  ///< 0: that of the scheme
  std::string path{};      ///< begins with `/`
  std::string query{};     ///< without `?`

  /// Errors: `invalid_argument` for what is not such a URL: another scheme, no host, a port that is
  /// none, or bytes that a URL cannot hold. The error shows neither credentials nor query.
  static result<web_url> parse(std::string_view text);

  /// The URL to which `reference` leads from here, as of a header `Location`: absolute, or relative
  /// to this one. Errors: as `parse`.
  result<web_url> resolve(std::string_view reference) const;

  /// As a header `Host` has it: the host, and the port unless it is that of the scheme.
  std::string authority() const;
  /// As a transport takes it: without `user`.
  std::string str() const;
  /// For people: without credentials and without the query, which may be signed.
  std::string shown() const;

  /// Whether both have the same scheme, host and port: only then credentials may go to the other.
  bool same_origin(const web_url& other) const;
};

/// `text` with each byte as `%XX` that is none of `A-Z a-z 0-9 - . _ ~`; of a path, `/` stays.
std::string percent_encode(std::string_view text, bool is_path = false);

/// The bytes of percent-encoded text. Nothing where no two digits follow a `%`.
std::optional<std::string> percent_decode(std::string_view text);

/// A time of UTC, in seconds since 1970, as HTTP has it: `Sun, 06 Nov 1994 08:49:37 GMT`.
std::string http_date(std::int64_t seconds);

/// The time that a header has; nothing for what is not a date of HTTP (RFC 9110, IMF-fixdate).
std::optional<std::int64_t> parse_http_date(std::string_view text);

/// A time of UTC, in seconds since 1970, as ISO 8601 has it: `20130524T000000Z`.
std::string compact_date(std::int64_t seconds);

namespace detail {

/// Whether two texts are the same but for the case of letters of ASCII.
bool same_letters(std::string_view a, std::string_view b) noexcept;
/// With the letters of ASCII in lower case.
std::string lower_text(std::string_view text);
/// Digits and nothing else, as a number.
std::optional<std::uint64_t> whole_number(std::string_view text);
/// A time of UTC in seconds since 1970; nothing where it is none. `clock`: as in "08:49:37".
std::optional<std::int64_t> seconds_of(std::string_view year, std::uint64_t month,
                                       std::string_view day, std::string_view clock);

}  // namespace detail

}}  // namespace zarrpoint::v0

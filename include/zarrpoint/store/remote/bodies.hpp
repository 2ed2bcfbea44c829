// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/store/remote/transport.hpp>
#include <zarrpoint/store/remote/web_url.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace zarrpoint { inline namespace v0 {

// ------------------------------------------------------------------------------------- web_url.hpp

namespace detail {

ZARRPOINT_INLINE char lower_letter(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

ZARRPOINT_INLINE std::string lower_text(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower_letter(c);
  return out;
}

ZARRPOINT_INLINE bool same_letters(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_letter(x) == lower_letter(y); });
}

/// Digits and nothing else.
ZARRPOINT_INLINE std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || fault != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

ZARRPOINT_INLINE int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower_letter(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

ZARRPOINT_INLINE bool is_unreserved(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

/// Of a path: its `.` and `..` segments are gone.
ZARRPOINT_INLINE std::string without_dots(std::string_view path) {
  std::string out;
  bool ends_as_directory = true;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(segment.size());
    ends_as_directory = segment == "." || segment == "..";
    if (segment == "..") {
      out.erase(out.empty() ? 0 : out.rfind('/'));
    } else if (segment != ".") {
      out.append("/").append(segment);
    }
  }
  if (ends_as_directory && (out.empty() || out.back() != '/')) out += '/';
  return out;
}

}  // namespace detail

ZARRPOINT_INLINE result<web_url> web_url::parse(std::string_view text) {
  const auto refuse = [](const char* why) {
    return error{errc::invalid_argument, std::string("it is not a URL of http or https: ") + why};
  };
  const std::size_t mark = text.find("://");
  if (mark == text.npos) return refuse("it has no scheme");
  web_url out;
  out.scheme = detail::lower_text(text.substr(0, mark));
  if (out.scheme != "http" && out.scheme != "https") return refuse("its scheme is another one");
  text.remove_prefix(mark + 3);
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f || c == '\\')
      return refuse("it has a space, a backslash or other bytes that are written as %XX");
  }
  text = text.substr(0, text.find('#'));
  std::string_view rest = text.substr(std::min(text.find_first_of("/?"), text.size()));
  text.remove_suffix(rest.size());
  if (const std::size_t at = text.rfind('@'); at != text.npos) {
    out.user = text.substr(0, at);
    text.remove_prefix(at + 1);
  }
  const std::size_t address_end = text.starts_with('[') ? text.find(']') : 0;
  if (address_end == text.npos) return refuse("its IPv6 address has no end");
  if (const std::size_t colon = text.find(':', address_end); colon != text.npos) {
    const auto port = detail::whole_number(text.substr(colon + 1));
    if (!port || *port == 0 || *port > 65535) return refuse("its port is not a number up to 65535");
    out.port = static_cast<std::uint16_t>(*port);
    text = text.substr(0, colon);
  }
  if (out.port == (out.scheme == "http" ? 80 : 443)) out.port = 0;
  if (text.empty()) return refuse("it names no host");
  const bool is_host = std::all_of(text.begin(), text.end(), [](char c) {
    return detail::is_unreserved(c) || c == '%' || c == ':' || c == '[' || c == ']';
  });
  if (!is_host) return refuse("the name of its host has characters that no host has");
  out.host = detail::lower_text(text);
  const std::size_t question = rest.find('?');
  if (question != rest.npos) out.query = rest.substr(question + 1);
  out.path = rest.substr(0, question);
  if (out.path.empty()) out.path = "/";
  return out;
}

ZARRPOINT_INLINE result<web_url> web_url::resolve(std::string_view reference) const {
  const std::size_t mark = reference.find("://");
  if (mark != reference.npos && mark < reference.find_first_of("/?#")) return parse(reference);
  if (reference.starts_with("//")) return parse(scheme + ':' + std::string(reference));
  reference = reference.substr(0, reference.find('#'));
  web_url out = *this;
  if (reference.empty()) return out;
  const std::size_t question = reference.find('?');
  const std::string_view to = reference.substr(0, question);
  out.query = question == reference.npos ? std::string_view() : reference.substr(question + 1);
  if (to.starts_with('/')) {
    out.path = detail::without_dots(to);
  } else if (!to.empty()) {
    out.path = detail::without_dots(path.substr(0, path.rfind('/') + 1).append(to));
  }
  return parse(out.str());  // which looks at its bytes
}

ZARRPOINT_INLINE std::string web_url::authority() const {
  return port == 0 ? host : host + ':' + std::to_string(port);
}

ZARRPOINT_INLINE std::string web_url::str() const {
  return scheme + "://" + authority() + path + (query.empty() ? "" : '?' + query);
}

ZARRPOINT_INLINE std::string web_url::shown() const {
  return detail::printable(scheme + "://" + authority() + path, 300);
}

ZARRPOINT_INLINE bool web_url::same_origin(const web_url& other) const {
  return scheme == other.scheme && host == other.host && port == other.port;
}

ZARRPOINT_INLINE std::string percent_encode(std::string_view text, bool is_path) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (detail::is_unreserved(c) || (is_path && c == '/')) {
      out += c;
    } else {
      constexpr char digits[] = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

ZARRPOINT_INLINE std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return {};
    const int high = detail::hex_digit(text[i + 1]), low = detail::hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return {};
    out += static_cast<char>(16 * high + low);
    i += 2;
  }
  return out;
}

namespace detail {

inline constexpr std::string_view month_names = "JanFebMarAprMayJunJulAugSepOctNovDec";
inline constexpr std::string_view day_names = "ThuFriSatSunMonTueWed";  // 1970 began on a Thursday

/// A day and a time of day of UTC.
struct calendar_time {
  std::int64_t year;
  unsigned month, day;  ///< from 1
  unsigned hour, minute, second;
  unsigned weekday;  ///< of `day_names`
};

ZARRPOINT_INLINE calendar_time calendar_of(std::int64_t seconds) {
  const std::int64_t days = seconds / 86400 - (seconds % 86400 < 0 ? 1 : 0);
  const auto in_day = static_cast<unsigned>(seconds - days * 86400);
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  return {static_cast<int>(date.year()),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          in_day / 3600,
          in_day / 60 % 60,
          in_day % 60,
          static_cast<unsigned>((days % 7 + 7) % 7)};
}

ZARRPOINT_INLINE std::optional<std::int64_t> seconds_of(std::string_view year, std::uint64_t month,
                                                        std::string_view day,
                                                        std::string_view clock) {
  std::array<unsigned, 5> parts{};
  const std::string_view texts[] = {year, day, clock.substr(0, 2), clock.substr(3, 2),
                                    clock.substr(6, 2)};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto number = whole_number(texts[i]);
    if (!number) return {};
    parts[i] = static_cast<unsigned>(*number);
  }
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(parts[0])),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(parts[1])};
  if (month > 12 || !date.ok() || parts[2] > 23 || parts[3] > 59 || parts[4] > 60) return {};
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * 86400 + parts[2] * 3600 + parts[3] * 60 + parts[4];
}

}  // namespace detail

ZARRPOINT_INLINE std::string http_date(std::int64_t seconds) {
  const detail::calendar_time at = detail::calendar_of(seconds);
  char text[64];
  const int size = std::snprintf(text, sizeof text, "%.3s, %02u %.3s %04lld %02u:%02u:%02u GMT",
                                 detail::day_names.data() + 3 * std::size_t{at.weekday}, at.day,
                                 detail::month_names.data() + 3 * std::size_t{at.month - 1},
                                 static_cast<long long>(at.year), at.hour, at.minute, at.second);
  return {text, static_cast<std::size_t>(std::max(size, 0))};
}

ZARRPOINT_INLINE std::optional<std::int64_t> parse_http_date(std::string_view text) {
  // "Sun, 06 Nov 1994 08:49:37 GMT"
  if (text.size() != 29 || text.substr(3, 2) != ", " || text.substr(25) != " GMT") return {};
  const std::size_t month = detail::month_names.find(text.substr(8, 3));
  if (month == text.npos || month % 3 != 0) return {};
  return detail::seconds_of(text.substr(12, 4), month / 3 + 1, text.substr(5, 2),
                            text.substr(17, 8));
}

ZARRPOINT_INLINE std::string compact_date(std::int64_t seconds) {
  const detail::calendar_time at = detail::calendar_of(seconds);
  char text[64];
  const int size = std::snprintf(text, sizeof text, "%04lld%02u%02uT%02u%02u%02uZ",
                                 static_cast<long long>(at.year), at.month, at.day, at.hour,
                                 at.minute, at.second);
  return {text, static_cast<std::size_t>(std::max(size, 0))};
}

// ----------------------------------------------------------------------------------- transport.hpp

ZARRPOINT_INLINE const std::string* find_header(const std::vector<http_header>& headers,
                                                std::string_view name) {
  for (const http_header& one : headers) {
    if (detail::same_letters(one.name, name)) return &one.value;
  }
  return nullptr;
}

ZARRPOINT_INLINE std::string_view http_response::header(std::string_view name) const {
  const std::string* value = find_header(headers, name);
  return value == nullptr ? std::string_view() : std::string_view(*value);
}

ZARRPOINT_INLINE void http_receiver::begin(int status) {
  response_.status = status;
  response_.headers.clear();
}

ZARRPOINT_INLINE bool http_receiver::header(std::string_view name, std::string_view value) {
  head_bytes_ += name.size() + value.size() + 4;
  if (head_bytes_ > max_head_bytes || response_.headers.size() >= max_headers) {
    refused_ = "the head of its answer is too long";
    return false;
  }
  response_.headers.push_back({std::string(name), std::string(value)});
  return true;
}

ZARRPOINT_INLINE bool http_receiver::line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  if (text.empty()) return true;
  if (text.starts_with("HTTP/")) {
    const std::size_t space = text.find(' ');
    const auto status =
        space == text.npos ? std::nullopt : detail::whole_number(text.substr(space + 1, 3));
    head_bytes_ += text.size();
    if (!status || *status < 100 || *status > 599 || head_bytes_ > max_head_bytes) {
      refused_ = "its answer has no status of HTTP";
      return false;
    }
    begin(static_cast<int>(*status));
    return true;
  }
  const std::size_t colon = text.find(':');
  if (colon == text.npos || colon == 0) {
    refused_ = "a line in the head of its answer is not a header";
    return false;
  }
  std::string_view value = text.substr(colon + 1);
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  value.remove_suffix(value.size() - (value.find_last_not_of(" \t") + 1));
  return header(text.substr(0, colon), value);
}

ZARRPOINT_INLINE bool http_receiver::body(bytes_view bytes) {
  const bool goes_in = response_.status == request_->into_status;
  const std::size_t room = goes_in ? request_->into.size() : request_->text_limit;
  const auto begin = static_cast<std::size_t>(response_.received);
  const std::size_t taken = std::min(bytes.size(), room - begin);
  if (taken != 0) {
    if (goes_in) {
      std::memcpy(request_->into.data() + begin, bytes.data(), taken);
    } else {
      response_.text.append(as_text(bytes.first(taken)));
    }
  }
  response_.received += taken;
  if (taken != bytes.size()) response_.overflow = true;
  return !response_.overflow;
}

ZARRPOINT_INLINE result<http_response> http_receiver::finish(std::string_view fault) {
  if (refused_ != nullptr) return error{errc::io, refused_};
  if (!has_head()) {
    return error{errc::unavailable,
                 fault.empty() ? "the connection ended before an answer" : std::string(fault)};
  }
  if (response_.overflow) {
    response_.fault = "its answer is longer than was asked for";
  } else if (!fault.empty()) {
    response_.fault = fault;
  } else if (request_->method != "HEAD" && response_.status != 204 && response_.status != 304) {
    const auto stated = detail::whole_number(response_.header("Content-Length"));
    if (stated && *stated != response_.received) {
      response_.fault = "the connection ended after " + std::to_string(response_.received) +
                        " of " + std::to_string(*stated) + " bytes";
    }
  }
  return std::move(response_);
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/core/bodies.hpp>
#endif

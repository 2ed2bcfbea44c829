// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/format.hpp>
#include <zarrpoint/store/place.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE place_look::place_look(std::string path, link_scope links)
    : path_(std::move(path)), links_(links) {
  std::string_view whole = path_;
  while (whole.size() > 1 && whole.ends_with('/')) whole.remove_suffix(1);
  std::string_view there = whole;
  struct ::stat info {};
  while (::stat(std::string(there).c_str(), &info) != 0) {
    const std::size_t slash = there.rfind('/');
    if ((errno != ENOENT && errno != ENOTDIR) || slash == there.npos || slash == 0) {
      rest_ = whole;
      return;
    }
    there = there.substr(0, slash);
    while (there.size() > 1 && there.ends_with('/')) there.remove_suffix(1);
  }
  rest_ = whole.substr(there.size());
  rest_.erase(0, rest_.find_first_not_of('/'));
  place_ = there;
  if (S_ISREG(info.st_mode)) {
    const auto file = detail::open_file(place_);
    if (!file) return;
    head_.resize(static_cast<std::size_t>(std::min<std::uint64_t>((*file)->size(), 264)));
    is_file_ = (*file)->read(0, std::as_writable_bytes(std::span(head_))).has_value();
  } else if (S_ISDIR(info.st_mode)) {
    auto opened = file_store::open(place_, {.read_only = true, .follow_links = links});
    if (opened) directory_ = *std::move(opened);
  }
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> place_look::open_file() const {
  return detail::open_file(is_file_ ? place_ : path_);
}

ZARRPOINT_INLINE result<void> place_look::check_directory() const {
  if (directory_) return {};
  ZARRPOINT_CHECK(file_store::open(path_, {.read_only = true, .follow_links = links_}));
  return error{errc::not_found, path_ + " does not exist"};
}

ZARRPOINT_INLINE result<bool> place_look::has(std::initializer_list<const char*> names) const {
  for (const char* const name : names) {
    if (!directory_) break;
    ZARRPOINT_TRY(key, store_key::parse(name));
    ZARRPOINT_TRY(object, directory_->open(key));
    if (object != nullptr) return true;
  }
  return false;
}

ZARRPOINT_INLINE result<stored_place> place_look::within(any_store opened,
                                                         std::string format) const {
  ZARRPOINT_TRY(key, store_key::parse(rest_).at(path_));
  return stored_place{std::move(opened), std::move(key), std::move(format)};
}

namespace detail {

inline result<stored_place> open_look(const format_entry& format, const place_look& at,
                                      const place_use& use) {
  ZARRPOINT_TRY(opened, format.open(at, use));
  if (opened.format.empty()) opened.format = format.name;
  return std::move(opened);
}

ZARRPOINT_INLINE result<std::optional<stored_place>> find_by_formats(
    std::span<const format_entry> formats, const std::string& path, const place_use& use) {
  const place_look at(path, use.links);
  // What lies behind a directory is a key, or the directory is not on the way to it.
  if (!at.is_file() && !store_key::parse(at.rest())) return std::optional<stored_place>();
  claim most = claim::none;
  const format_entry* chosen = nullptr;
  const format_entry* other = nullptr;
  for (const format_entry& format : formats) {
    ZARRPOINT_TRY(claimed, format.sniff(at));
    if (claimed == claim::none || claimed < most) continue;
    other = claimed == most ? chosen : nullptr;
    chosen = &format;
    most = claimed;
  }
  if (chosen == nullptr) return std::optional<stored_place>();
  if (other != nullptr) {
    const auto as = [&](const format_entry& one) {
      return in_quotes(url::of_path(one.name, path).str());
    };
    return error{errc::invalid_argument, "open " + path + ": it may be of the format " +
                                             std::string(other->name) + " or " +
                                             std::string(chosen->name) + "; choose by " +
                                             as(*other) + " or " + as(*chosen)};
  }
  ZARRPOINT_TRY(opened, open_look(*chosen, at, use));
  return std::optional(std::move(opened));
}

ZARRPOINT_INLINE result<stored_place> open_by_format(const format_entry& format, const url& at,
                                                     const place_use& use) {
  ZARRPOINT_TRY(path, at.path());
  if (use.write)
    return error{errc::unsupported, "write " + path + ": " + std::string(format.name) +
                                        ":// is only read; save to a directory or a zip, or by "
                                        "the function that writes this format"};
  return open_look(format, place_look(std::move(path), use.links), use);
}

}  // namespace detail

}}  // namespace zarrpoint::v0

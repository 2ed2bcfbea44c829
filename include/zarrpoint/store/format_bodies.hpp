// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/format.hpp>
#include <zarrpoint/store/place.hpp>
#include <zarrpoint/store/prefix_store.hpp>

#include <algorithm>
#include <cerrno>

namespace zarrpoint { inline namespace v0 {

// -------------------------------------------------------------------------------------- format.hpp

namespace detail {

/// A file that several have opened by one request.
class shared_blob final : public blob {
 public:
  using blob::read;
  explicit shared_blob(std::shared_ptr<const blob> of) : of_(std::move(of)) {}

  std::uint64_t size() const noexcept override { return of_->size(); }
  std::size_t request_bytes() const noexcept override { return of_->request_bytes(); }
  std::string name() const override { return of_->name(); }
  std::optional<blob_version> version() const noexcept override { return of_->version(); }
  result<mapping> map() const override { return of_->map(); }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    return of_->read(offset, into);
  }

 protected:
  result<void> read_vectored(std::span<const read_request> requests) const override {
    return of_->read(requests);
  }

 private:
  std::shared_ptr<const blob> of_;
};

}  // namespace detail

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

ZARRPOINT_INLINE place_look::place_look(std::string path, stored_place at,
                                        std::unique_ptr<blob> file)
    : path_(std::move(path)), place_(path_) {
  if (file == nullptr) {
    directory_ = at.key.is_root() ? at.store : any_store(prefix_store(at.store, at.key));
    return;
  }
  head_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(file->size(), 264)));
  is_file_ = file->read(0, std::as_writable_bytes(std::span(head_))).has_value();
  file_ = std::move(at);
  opened_ = std::move(file);
}

ZARRPOINT_INLINE result<stored_place> place_look::file_place() const {
  if (file_) return *file_;
  const std::size_t slash = place_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : place_.substr(0, slash + 1);
  ZARRPOINT_TRY(key, store_key::parse(place_.substr(slash + 1)));  // npos + 1 == 0
  ZARRPOINT_TRY(store, file_store::open(folder, {.read_only = true, .follow_links = links_}));
  return stored_place{std::move(store), std::move(key)};
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> place_look::open_file() const {
  if (opened_ != nullptr) return detail::make_owned<blob, detail::shared_blob>(opened_);
  return detail::open_file(is_file_ ? place_ : path_);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> place_look::open_beside(
    const std::string& name) const {
  if (!file_) return detail::open_file(place_.substr(0, place_.rfind('/') + 1) + name);
  ZARRPOINT_TRY(key, file_->key.parent().child(name));
  return file_->store.open(key);
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
    std::span<const format_entry> formats, const place_look& at, const place_use& use) {
  const std::string& path = at.path();
  // What lies behind a directory is a key, or the directory is not on the way to it.
  if (!at.is_file() && !store_key::parse(at.rest())) return std::optional<stored_place>();
  claim most = claim::none;
  const format_entry* chosen = nullptr;
  const format_entry* other = nullptr;
  for (const format_entry& format : formats) {
    const auto sniffed = format.sniff(at);
    // What is known by a listing alone is not found where there is none, as on a web server.
    const bool needs_list = !sniffed && sniffed.failure().code == errc::unsupported &&
                            at.is_directory() && !at.directory().can_list();
    if (!sniffed && !needs_list) return sniffed.failure();
    const claim claimed = needs_list ? claim::none : *sniffed;
    if (claimed == claim::none || claimed < most) continue;
    other = claimed == most ? chosen : nullptr;
    chosen = &format;
    most = claimed;
  }
  if (chosen == nullptr) return std::optional<stored_place>();
  if (other != nullptr) {
    const auto as = [&](const format_entry& one) {
      return '"' + printable(url::of_path(one.name, path).str(), 8192) + '"';
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

#if ZARRPOINT_BODIES
#include <zarrpoint/store/bodies.hpp>
#endif

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/owned_paths.hpp>
#include <zarrpoint/store/base/range_blob.hpp>
#include <zarrpoint/store/base/url.hpp>
#include <zarrpoint/store/base/write_threads.hpp>

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace zarrpoint { inline namespace v0 {

// ---------------------------------------------------------------------------------------- blob.hpp

ZARRPOINT_INLINE mapping::mapping(bytes_view bytes, std::shared_ptr<const void> owner)
    : bytes_(bytes), owner_(std::move(owner)) {}

ZARRPOINT_INLINE result<void> blob::read(std::span<const read_request> requests) const {
  return read_vectored(requests);
}

ZARRPOINT_INLINE result<mapping> blob::map() const {
  return error{errc::unsupported, "map " + name() + ": this store cannot map objects"};
}

ZARRPOINT_INLINE std::optional<blob_version> blob::version() const noexcept { return {}; }

ZARRPOINT_INLINE result<void> blob::read_vectored(std::span<const read_request> requests) const {
  for (const read_request& request : requests) ZARRPOINT_CHECK(read(request.offset, request.into));
  return {};
}

ZARRPOINT_INLINE result<void> blob::check_range(std::uint64_t offset, std::uint64_t bytes) const {
  if (offset <= size() && bytes <= size() - offset) return {};
  return error{errc::out_of_range, "read " + name() + ": " + std::to_string(bytes) + " bytes at " +
                                       std::to_string(offset) + " reach beyond its size of " +
                                       std::to_string(size())};
}

ZARRPOINT_INLINE result<void> blob_writer::write_once(std::uint64_t offset, std::size_t gap,
                                                      bytes_view bytes) {
  static_cast<void>(gap);
  return write(offset, bytes);
}

ZARRPOINT_INLINE result<void> blob_writer::write_kept(std::uint64_t offset, std::size_t gap,
                                                      bytes_view bytes) {
  return write_once(offset, gap, bytes);
}

ZARRPOINT_INLINE result<void> blob_writer::reserve(std::uint64_t size) {
  static_cast<void>(size);
  return {};
}

ZARRPOINT_INLINE result<void> blob_writer::read(std::uint64_t offset, mutable_bytes into) const {
  static_cast<void>(offset), static_cast<void>(into);
  return error{errc::unsupported, "this store cannot read an object before it is finished"};
}

// ----------------------------------------------------------------------------------------- key.hpp

ZARRPOINT_INLINE result<store_key> store_key::parse(std::string_view text) {
  if (text.size() > max_size) return refuse(text, "more than 1024 bytes");
  if (!text.empty()) {
    for (std::string_view rest = text;;) {
      const std::size_t slash = rest.find('/');
      if (const char* fault = detail::key_segment_fault(rest.substr(0, slash)))
        return refuse(text, fault);
      if (slash == std::string_view::npos) break;
      rest.remove_prefix(slash + 1);
    }
  }
  return store_key(std::string(text));
}

ZARRPOINT_INLINE std::string_view store_key::name() const noexcept {
  return str().substr(text_.rfind('/') + 1);  // npos + 1 == 0
}

ZARRPOINT_INLINE store_key store_key::parent() const {
  const std::size_t slash = text_.rfind('/');
  return store_key(slash == std::string::npos ? std::string() : text_.substr(0, slash));
}

ZARRPOINT_INLINE result<store_key> store_key::child(std::string_view relative) const {
  if (relative.empty()) return *this;
  if (is_root()) return parse(relative);
  std::string joined;
  joined.reserve(text_.size() + 1 + relative.size());
  joined.append(text_).append("/").append(relative);
  return parse(joined);
}

ZARRPOINT_INLINE error store_key::refuse(std::string_view text, const char* fault) {
  std::string shown;
  for (const char c : text.substr(0, 80)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '\\') {
      shown += c;
    } else {
      constexpr std::string_view digits = "0123456789abcdef";
      shown.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
  }
  if (text.size() > 80) shown += "...";
  return {errc::invalid_argument, "store key \"" + shown + "\" has " + fault};
}

// --------------------------------------------------------------------------------- owned_paths.hpp

ZARRPOINT_INLINE path_owner owned_paths::owner_of(std::string_view path) const {
  const std::string beneath = std::string(path) + '/';
  bool has_own = false;
  for (const std::vector<std::string>* paths : {&old, &taken}) {
    if (std::binary_search(paths->begin(), paths->end(), path)) return path_owner::own;
    const auto at = std::lower_bound(paths->begin(), paths->end(), beneath);
    has_own = has_own || (at != paths->end() && at->starts_with(beneath));
  }
  return has_own ? path_owner::mixed : path_owner::foreign;
}

// ----------------------------------------------------------------------------------- any_store.hpp

ZARRPOINT_INLINE result<std::unique_ptr<blob_writer>> any_store::create(
    const store_key& key) const {
  return model_->create(key);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_extension>> any_store::extend(
    const store_key& key, const blob& before) const {
  return model_->extend(key, before);
}

ZARRPOINT_INLINE result<std::vector<list_entry>> any_store::list(const store_key& prefix) const {
  return model_->list(prefix);
}

ZARRPOINT_INLINE result<std::unique_ptr<publication>> any_store::stage(
    const store_key& key, const publish_options& how) const {
  return model_->stage(key, how);
}

ZARRPOINT_INLINE result<void> any_store::rename(const store_key& from, const store_key& to) const {
  return model_->rename(from, to);
}

ZARRPOINT_INLINE bool any_store::is_above(const store_key& top, const any_store& other,
                                          const store_key& key) const {
  if (model_ == other.model_)
    return top.is_root() ? !key.is_root() : key.str().starts_with(std::string(top.str()) + '/');
  const void* const mine = identity();
  const void* const theirs = other.identity();
  if (mine != nullptr && theirs != nullptr && mine != theirs) return false;
  return other.describe(key).starts_with(describe(top) + '/');
}

ZARRPOINT_INLINE bool detail::may_exist(const any_store& store, const store_key& key) {
  if (key.is_root() || !store.can_list()) return true;
  const auto beside = store.list(key.parent());
  if (!beside) return true;
  return std::any_of(beside->begin(), beside->end(),
                     [&](const list_entry& entry) { return entry.name == key.name(); });
}

ZARRPOINT_INLINE error detail::nothing_at(const any_store& store, const store_key& key,
                                          std::string_view otherwise) {
  std::string text = store.describe(key);
  if (may_exist(store, key)) {
    text += otherwise;
  } else {
    text += " does not exist";
  }
  return {errc::not_found, std::move(text)};
}

ZARRPOINT_INLINE result<std::optional<std::vector<std::byte>>> get(const any_store& store,
                                                                   const store_key& key,
                                                                   std::uint64_t max_bytes) {
  return get<any_store>(store, key, max_bytes);
}

// ----------------------------------------------------------------------------------------- url.hpp

ZARRPOINT_INLINE std::optional<url> url::parse(std::string_view text) {
  const std::size_t mark = text.find("://");
  if (mark == text.npos || mark == 0) return std::nullopt;
  url out;
  for (const char c : text.substr(0, mark)) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool is_other = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
    if (!is_letter && (out.scheme.empty() || !is_other)) return std::nullopt;
    out.scheme += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  out.rest = text.substr(mark + 3);
  return out;
}

ZARRPOINT_INLINE url url::of_path(std::string_view scheme, std::string_view path) {
  url out{std::string(scheme), path.starts_with("localhost/") ? "./" : ""};
  for (const char c : path) {
    if (c == '%') {
      out.rest += "%25";
    } else {
      out.rest += c;
    }
  }
  return out;
}

ZARRPOINT_INLINE result<std::string> url::path() const {
  const auto refuse = [this](const char* why) {
    return error{errc::invalid_argument, detail::in_quotes(str()) + ": " + why};
  };
  constexpr std::string_view local = "localhost/";
  std::string_view from = rest;
  if (from.starts_with(local)) from.remove_prefix(local.size() - 1);
  std::string out;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != '%') {
      out += from[i];
      continue;
    }
    const int high = i + 2 < from.size() ? digit(from[i + 1]) : -1;
    const int low = i + 2 < from.size() ? digit(from[i + 2]) : -1;
    if (high < 0 || low < 0) return refuse("\"%\" must be followed by two hexadecimal digits");
    out += static_cast<char>(static_cast<unsigned char>(high * 16 + low));
    i += 2;
  }
  if (out.empty()) return refuse("no path");
  if (out.find('\0') != std::string::npos) return refuse("a NUL byte in a path");
  return out;
}

ZARRPOINT_INLINE int url::digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

namespace detail {

// ---------------------------------------------------------------------------------- range_blob.hpp

ZARRPOINT_INLINE result<mapping> container_file::map() const {
  const std::lock_guard lock(mutex_);
  if (!mapped_) {
    ZARRPOINT_TRY(made, file_->map());
    mapped_ = std::move(made);
  }
  return *mapped_;
}

ZARRPOINT_INLINE result<void> range_blob::read(std::uint64_t offset, mutable_bytes into) const {
  ZARRPOINT_CHECK(check_range(offset, into.size()));
  return of_->file().read(begin_ + offset, into);
}

ZARRPOINT_INLINE result<mapping> range_blob::map() const {
  ZARRPOINT_TRY(whole, of_->map());
  if (whole.bytes().size() < begin_ + size_)
    return error{errc::corrupt, "map " + name_ + ": its file became shorter"};
  return mapping(
      whole.bytes().subspan(static_cast<std::size_t>(begin_), static_cast<std::size_t>(size_)),
      detail::make_counted<const mapping>(whole));
}

ZARRPOINT_INLINE result<void> range_blob::read_vectored(
    std::span<const read_request> requests) const {
  std::vector<read_request> moved(requests.begin(), requests.end());
  for (read_request& request : moved) {
    ZARRPOINT_CHECK(check_range(request.offset, request.into.size()));
    request.offset += begin_;
  }
  return of_->file().read(moved);
}

// ------------------------------------------------------------------------------- write_threads.hpp

ZARRPOINT_INLINE write_behind write_threads::make() {
  static constexpr write_behind::operations by{
      [](void* self, const write_behind::job& work, pending_writes& in) noexcept {
        return static_cast<write_threads*>(self)->post(work, in);
      },
      [](void* self, pending_writes& in) noexcept {
        static_cast<write_threads*>(self)->settle(in);
      },
      [](void* self) noexcept { end(static_cast<write_threads*>(self)); }};
  return {by, new write_threads};
}

ZARRPOINT_INLINE bool write_threads::is_forked() const noexcept {
  const ::pid_t process = process_.load();
  return process != 0 && process != ::getpid();
}

ZARRPOINT_INLINE void write_threads::end(write_threads* self) noexcept {
  if (!self->is_forked()) {
    delete self;
    return;
  }
  static std::atomic<write_threads*> kept = nullptr;  // where a leak checker finds them
  self->kept_before_ = kept.exchange(self);
}

ZARRPOINT_INLINE write_threads::~write_threads() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  pool_.reset();
}

ZARRPOINT_INLINE bool write_threads::post(const write_behind::job& work,
                                          pending_writes& in) noexcept {
  if (is_forked()) return false;
  const std::lock_guard lock(mutex_);
  if (seen_ < few) return ++seen_, false;
  if (process_ == 0 && !start()) return seen_ = 0, false;
  if (busy_ == lanes) return false;
  ++busy_;
  ++in.count;
  jobs_[waiting_++] = {work, &in};
  changed_.notify_one();
  return true;
}

ZARRPOINT_INLINE void write_threads::settle(pending_writes& in) noexcept {
  if (is_forked()) {
    if (in.count != 0) in.code = EIO;
    return;
  }
  std::unique_lock lock(mutex_);
  while (in.count != 0) written_.wait(lock);
}

/// False where the system has no threads for it.
ZARRPOINT_INLINE bool write_threads::start() noexcept {
  unsigned serving = 0;
#if ZARRPOINT_EXCEPTIONS
  try {
#endif
    pool_ = std::make_unique<thread_pool>(lanes);
    const auto threads = pool_->executor();
    if (threads.concurrency() < 2) return pool_.reset(), false;  // that may be none
    for (; serving < lanes; ++serving) threads.execute([this] { serve(); });
#if ZARRPOINT_EXCEPTIONS
  } catch (...) {
    if (serving == 0) return pool_.reset(), false;
  }
#endif
  process_ = ::getpid();
  return true;
}

ZARRPOINT_INLINE void write_threads::serve() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (waiting_ == 0 && !closed_) changed_.wait(lock);
    if (waiting_ == 0) return;
    const posted one = jobs_[0];
    for (unsigned i = 1; i < waiting_; ++i) jobs_[i - 1] = jobs_[i];
    --waiting_;
    lock.unlock();
    const int code = one.work.write(one.work);
    lock.lock();
    int none = 0;
    if (code != 0) one.in->code.compare_exchange_strong(none, code);
    --busy_;
    if (--one.in->count == 0) written_.notify_all();
  }
}

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/exec/bodies.hpp>
#endif

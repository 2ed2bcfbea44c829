// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/file/direct_writes.hpp>
#include <zarrpoint/store/file/file_root.hpp>
#include <zarrpoint/store/file/file_writer.hpp>

#include <sys/file.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<std::unique_ptr<blob_writer>> file_writer::open(
    std::shared_ptr<file_root> root, const store_key& key) {
  auto* const out = new file_writer(std::move(root), key);
  std::unique_ptr<blob_writer> owner(out);
  if (!out->create()) return system_error("create", out->name(), errno);
  return owner;
}

ZARRPOINT_INLINE file_writer::file_writer(std::shared_ptr<file_root> root, store_key key)
    : root_(std::move(root)), key_(std::move(key)), direct_(root_->blocks(), root_->behind()) {
  root_->writer_opened();
}

ZARRPOINT_INLINE file_writer::~file_writer() {
  if (!at_.empty() && is_ours()) ::unlinkat(parent_->get(), at_.c_str(), 0);
  root_->writer_closed();
}

ZARRPOINT_INLINE result<void> file_writer::write(std::uint64_t offset, bytes_view bytes) {
  return put(offset, bytes, nullptr);
}

ZARRPOINT_INLINE result<void> file_writer::write_once(std::uint64_t offset, std::size_t gap,
                                                      bytes_view bytes) {
  const direct_writes::once how{.gap = gap};
  return put(offset, bytes, &how);
}

ZARRPOINT_INLINE result<void> file_writer::write_kept(std::uint64_t offset, std::size_t gap,
                                                      bytes_view bytes) {
  const direct_writes::once how{.gap = gap, .bytes_stay = true};
  return put(offset, bytes, &how);
}

ZARRPOINT_INLINE result<void> file_writer::put(std::uint64_t offset, bytes_view bytes,
                                               const direct_writes::once* how) {
  if (bytes.empty()) return {};
  if (offset > max_file_size || bytes.size() > max_file_size - offset)
    return error{errc::out_of_range,
                 "write " + name() + ": the file would become larger than the system allows"};
  int code = 0;
  if (bytes.size() < direct_minimum || !root_->durable()) {
    code = write_fully(fd_.get(), offset, bytes);
  } else {
    if (!direct_in_use_.load(std::memory_order_acquire)) open_direct();
    code = how != nullptr ? direct_.write_once(offset, bytes, *how) : direct_.write(offset, bytes);
  }
  if (code != 0) {
    failed_.store(true, std::memory_order_relaxed);
    return system_error("write", name(), code);
  }
  const std::uint64_t end = offset + bytes.size();
  std::uint64_t before = end_.load(std::memory_order_relaxed);
  while (before < end && !end_.compare_exchange_weak(before, end, std::memory_order_relaxed)) {
  }
  return {};
}

ZARRPOINT_INLINE result<void> file_writer::reserve(std::uint64_t size) {
  if (size <= reserved_ || size > max_file_size) return {};
  // From where the last one ended: file systems look at all that is reserved already.
  const int code = retry_interrupted([&] {
    return ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(reserved_),
                       static_cast<off_t>(size - reserved_));
  });
  if (code == 0) {
    reserved_ = size;
  } else if (errno == ENOSPC || errno == EDQUOT) {
    return system_error("reserve space for", name(), errno);
  }
  return {};
}

ZARRPOINT_INLINE result<void> file_writer::read(std::uint64_t offset, mutable_bytes into) const {
  const int code = read_fully(fd_.get(), offset, into);
  if (code == 0) return {};
  if (code > 0) return system_error("read", name(), code);
  return error{errc::out_of_range, "read " + name() + ": that part was not written yet"};
}

ZARRPOINT_INLINE result<void> file_writer::finish() {
  if (failed_.exchange(true, std::memory_order_relaxed) || !fd_) {
    direct_.settle();
    return error{errc::invalid_argument,
                 "finish " + name() + ": it is finished already, or a write failed"};
  }
  if (const int code = direct_.finish(); code != 0) return system_error("write", name(), code);
  const std::uint64_t end = end_.load(std::memory_order_relaxed);
  if (reserved_ > end) {  // gives back what was reserved and not used
    const int code =
        retry_interrupted([&] { return ::ftruncate(fd_.get(), static_cast<off_t>(end)); });
    if (code != 0) return system_error("truncate", name(), errno);
  }
  if (root_->durable()) {
    if (const int code = root_->sync_file(fd_.get()); code != 0)
      return system_error("sync", name(), code);
  }
  direct_in_use_.store(false, std::memory_order_relaxed);
  direct_.open(-1, unique_fd());
  const std::optional<file_id> ours = renames_ ? id_of(fd_.get()) : std::nullopt;
  // What is locked, as long as this process lives, nobody takes for abandoned.
  if (renames_) lock_ = unique_fd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (const int code = fd_.close(); code != 0) return system_error("close", name(), code);
  if (renames_) {
    const std::string target(key_.name());
    const int parent = parent_->get();
    int code = ::renameat(parent, at_.c_str(), parent, target.c_str()) == 0 ? 0 : errno;
    code = rename_outcome(code, ours, parent, target.c_str());
    if (code != 0) return system_error("rename", name(), code);
    lock_.close();
  }
  at_.clear();
  if (root_->options().sync) {
    if (const int code = sync_directory(parent_->get()); code != 0) {
      error failure = system_error("sync the directory of", name(), code);
      failure.code = errc::outcome_unknown;
      return failure;
    }
  }
  return {};
}

ZARRPOINT_INLINE bool file_writer::create() {
  parent_ = root_->shared_parent_of(key_);
  if (!parent_) return false;
  // In its place only if nothing is there: what is there stays until it is replaced.
  if (!root_->options().atomic && create_file(std::string(key_.name()))) return true;
  renames_ = create_beside();
  return renames_;
}

ZARRPOINT_INLINE bool file_writer::create_beside() {
  temporary_kind kind = root_->owner_kind();
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (!create_file(temporary_name(key_.name(), kind))) return false;
    const int code = lock_file(fd_.get(), LOCK_EX);
    if (kind == temporary_kind::unlocked || (code == 0 && is_ours())) return true;
    // Without locks after all; or somebody took it for abandoned before it had its lock.
    if (code != 0 && code != EWOULDBLOCK) kind = temporary_kind::unlocked;
    ::unlinkat(parent_->get(), at_.c_str(), 0);
  }
  return errno = EBUSY, false;
}

ZARRPOINT_INLINE bool file_writer::create_file(std::string as) {
  constexpr int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  fd_ = unique_fd(
      retry_interrupted([&] { return ::openat(parent_->get(), as.c_str(), flags, 0666); }));
  if (fd_) at_ = std::move(as);
  return static_cast<bool>(fd_);
}

ZARRPOINT_INLINE void file_writer::open_direct() {
  const std::lock_guard lock(direct_mutex_);
  if (direct_in_use_.load(std::memory_order_relaxed)) return;
  // One that is written in its place may have been replaced: by a FIFO even, which would block.
  constexpr int flags = O_WRONLY | O_DIRECT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  unique_fd fd(retry_interrupted([&] { return ::openat(parent_->get(), at_.c_str(), flags); }));
  if (!same_file(id_of(fd.get()), id_of(fd_.get()))) fd = unique_fd();
  direct_.open(fd_.get(), std::move(fd));
  direct_in_use_.store(true, std::memory_order_release);
}

ZARRPOINT_INLINE bool file_writer::is_ours() const noexcept {
  return !fd_ || same_file(id_of(fd_.get()), id_of(parent_->get(), at_.c_str()));
}

}}}  // namespace zarrpoint::v0::detail

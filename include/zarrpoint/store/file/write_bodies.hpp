// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/file/direct_writes.hpp>
#include <zarrpoint/store/file/extended_file.hpp>
#include <zarrpoint/store/file/file_writer.hpp>
#include <zarrpoint/store/file/place_lock.hpp>
#include <zarrpoint/store/file/publish_directory.hpp>
#include <zarrpoint/store/file/remove_tree.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if ZARRPOINT_LINUX
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#endif

namespace zarrpoint { inline namespace v0 { namespace detail {

// ------------------------------------------------------------------------------- direct_writes.hpp

ZARRPOINT_INLINE direct_writes::~direct_writes() {
  settle();
  if (memory_ != nullptr) blocks_.give(memory_);
}

ZARRPOINT_INLINE void direct_writes::open(int buffered, unique_fd direct) {
  buffered_ = buffered;
  fd_ = std::move(direct);
  usable_.store(static_cast<bool>(fd_), std::memory_order_relaxed);
}

ZARRPOINT_INLINE int direct_writes::write(std::uint64_t offset, bytes_view bytes) {
  const std::size_t head = static_cast<std::size_t>(-offset % direct_boundary);
  if (bytes.size() < direct_minimum || !usable_.load(std::memory_order_relaxed))
    return write_fully(buffered_, offset, bytes);
  const std::size_t size = (bytes.size() - head) / direct_boundary * direct_boundary;
  int code = write_fully(buffered_, offset, bytes.first(head));
  for (std::size_t at = head; code == 0 && at < head + size;) {
    const std::size_t count = std::min(head + size - at, staging_blocks::block_size);
    code = put_now(offset + at, bytes.subspan(at, count));
    at += count;
  }
  if (code != 0) return code;
  return write_fully(buffered_, offset + head + size, bytes.subspan(head + size));
}

ZARRPOINT_INLINE int direct_writes::write_once(std::uint64_t offset, bytes_view bytes, once how) {
  if (bytes.size() < direct_minimum || !usable_.load(std::memory_order_relaxed))
    return write_fully(buffered_, offset, bytes);
  if (const int code = pending_.code.load(std::memory_order_relaxed); code != 0) return code;
  const std::uint64_t end = offset + bytes.size();
  const bytes_view head = bytes.first(static_cast<std::size_t>(-offset % direct_boundary));
  // A gap belongs to the block of the head, or is left out.
  static constexpr std::byte nothing[64]{};
  const bool fits = how.gap <= sizeof nothing && head.size() + how.gap < direct_boundary;
  const bytes_view zeros(nothing, head.empty() || !fits ? 0 : how.gap);
  const bytes_view tail = bytes.last(static_cast<std::size_t>(end % direct_boundary));
  edge* before = nullptr;
  edge* after = nullptr;
  bool head_waits = false;
  bool tail_waits = false;
  {
    const std::lock_guard lock(mutex_);
    if (!head.empty()) {
      const std::size_t missing = direct_boundary - head.size();
      before = take(offset - missing, missing - zeros.size());
      head_waits = before == nullptr && keep(offset - zeros.size(), zeros, head);
    }
    if (!tail.empty()) {
      after = take(end, direct_boundary - tail.size());
      tail_waits = after == nullptr && keep(end - tail.size(), {}, tail);
    }
  }
  int code = 0;
  if (before != nullptr) {
    offset = before->offset;
  } else {
    if (!head_waits) code = write_fully(buffered_, offset, head);
    bytes = bytes.subspan(head.size());
    offset += head.size();
  }
  if (after == nullptr) {
    if (!tail_waits && code == 0) code = write_fully(buffered_, end - tail.size(), tail);
    bytes = bytes.first(bytes.size() - tail.size());
  }
  if (code == 0)
    code =
        put(offset,
            {bytes_of(before), before != nullptr ? zeros : zeros.first(0), bytes, bytes_of(after)},
            how.bytes_stay);
  const std::lock_guard lock(mutex_);
  if (before != nullptr) *before = {};
  if (after != nullptr) *after = {};
  return code;
}

ZARRPOINT_INLINE int direct_writes::finish() {
  settle();
  const std::lock_guard lock(mutex_);
  int code = pending_.code.load(std::memory_order_relaxed);
  for (edge& one : edges_) {
    if (code == 0) code = write_fully(buffered_, one.offset, bytes_of(&one));
    one.size = 0;
  }
  return code;
}

ZARRPOINT_INLINE bytes_view direct_writes::bytes_of(const edge* one) const noexcept {
  if (one == nullptr || one->size == 0) return {};
  return {memory_ + static_cast<std::size_t>(one - edges_) * direct_boundary, one->size};
}

/// What waits there, for the caller to write; null if nothing does.
ZARRPOINT_INLINE direct_writes::edge* direct_writes::take(std::uint64_t offset,
                                                          std::size_t size) noexcept {
  for (edge& one : edges_) {
    if (one.size != size || one.offset != offset || one.taken) continue;
    one.taken = true;
    return &one;
  }
  return nullptr;
}

/// False when there is no room.
ZARRPOINT_INLINE bool direct_writes::keep(std::uint64_t offset, bytes_view zeros,
                                          bytes_view bytes) noexcept {
  if (memory_ == nullptr) memory_ = blocks_.take();
  if (memory_ == nullptr) return false;
  for (std::size_t i = 0; i < slots; ++i) {
    if (edges_[i].size != 0) continue;
    edges_[i] = {offset, zeros.size() + bytes.size(), false};
    std::byte* const slot = memory_ + i * direct_boundary;
    std::memset(slot, 0, zeros.size());
    std::memcpy(slot + zeros.size(), bytes.data(), bytes.size());
    return true;
  }
  return false;
}

ZARRPOINT_INLINE int direct_writes::put(std::uint64_t offset, const bytes_view (&parts)[4],
                                        bool bytes_stay) {
  const bool alone = parts[0].empty() && parts[3].empty();
  if (alone && reinterpret_cast<std::uintptr_t>(parts[2].data()) % direct_alignment == 0) {
    const write_behind::job work{&write_kept, this, offset, parts[2]};
    return bytes_stay && behind_.post(work, pending_) ? 0 : write_kept(work);
  }
  std::byte* block = nullptr;
  std::size_t used = 0;
  bool is_staged = true;  // until there is no memory for that
  for (bytes_view part : parts) {
    while (!part.empty()) {
      if (is_staged && block == nullptr) block = blocks_.take();
      is_staged = block != nullptr;
      if (!is_staged) {
        if (const int code = write_fully(buffered_, offset, part); code != 0) return code;
        offset += part.size();
        break;
      }
      const std::size_t count = std::min(part.size(), staging_blocks::block_size - used);
      std::memcpy(block + used, part.data(), count);
      part = part.subspan(count);
      used += count;
      if (used < staging_blocks::block_size) continue;
      if (const int code = put_block(offset, block, used); code != 0) return code;
      offset += std::exchange(used, 0);
      block = nullptr;
    }
  }
  return block != nullptr ? put_block(offset, block, used) : 0;
}

/// Writes whole blocks, one staging block at most, before it returns.
ZARRPOINT_INLINE int direct_writes::put_now(std::uint64_t offset, bytes_view bytes) noexcept {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % direct_alignment == 0;
  std::byte* const block = is_aligned ? nullptr : blocks_.take();
  if (!is_aligned && block == nullptr) return write_fully(buffered_, offset, bytes);
  if (block != nullptr) std::memcpy(block, bytes.data(), bytes.size());
  const int code = put_bytes(offset, block != nullptr ? bytes_view(block, bytes.size()) : bytes);
  if (block != nullptr) blocks_.give(block);
  return code;
}

/// Writes the first bytes of a staged block, now or by somebody else, and gives it back.
ZARRPOINT_INLINE int direct_writes::put_block(std::uint64_t offset, std::byte* block,
                                              std::size_t size) noexcept {
  const write_behind::job work{&write_staged, this, offset, bytes_view(block, size)};
  return behind_.post(work, pending_) ? 0 : write_staged(work);
}

ZARRPOINT_INLINE int direct_writes::write_kept(const write_behind::job& work) noexcept {
  return static_cast<direct_writes*>(work.writer)->put_bytes(work.offset, work.bytes);
}

ZARRPOINT_INLINE int direct_writes::write_staged(const write_behind::job& work) noexcept {
  auto& self = *static_cast<direct_writes*>(work.writer);
  const int code = self.put_bytes(work.offset, work.bytes);
  self.blocks_.give(const_cast<std::byte*>(work.bytes.data()));
  return code;
}

ZARRPOINT_INLINE int direct_writes::put_bytes(std::uint64_t offset, bytes_view bytes) noexcept {
  if (usable_.load(std::memory_order_relaxed)) {
    const int code = write_fully(fd_.get(), offset, bytes);
    if (code != EINVAL && code != EOPNOTSUPP) return code;
    // Stricter rules than ours; what was written already is written again.
    usable_.store(false, std::memory_order_relaxed);
  }
  return write_fully(buffered_, offset, bytes);
}

ZARRPOINT_INLINE staging_blocks::~staging_blocks() {
  while (free_ != nullptr) std::free(pop());
}

ZARRPOINT_INLINE std::byte* staging_blocks::take() noexcept {
  const std::lock_guard lock(mutex_);
  if (free_ != nullptr) return pop();
  return static_cast<std::byte*>(std::aligned_alloc(direct_alignment, block_size));
}

ZARRPOINT_INLINE void staging_blocks::give(std::byte* block) noexcept {
  const std::lock_guard lock(mutex_);
  std::memcpy(block, &free_, sizeof free_);
  free_ = block;
}

ZARRPOINT_INLINE std::byte* staging_blocks::pop() noexcept {
  std::byte* const block = free_;
  std::memcpy(&free_, block, sizeof free_);
  return block;
}

// ------------------------------------------------------------------------------- extended_file.hpp

/// Reserves space beyond the end of a file, whose size stays; 0 or the errno.
inline int reserve_space(int fd, std::uint64_t begin, std::uint64_t size) noexcept {
#if ZARRPOINT_LINUX
  const int code = retry_interrupted([&] {
    return ::fallocate(fd, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
                       static_cast<off_t>(size));
  });
  return code == 0 ? 0 : errno;
#else
  return static_cast<void>(fd), static_cast<void>(begin), static_cast<void>(size), ENOSYS;
#endif
}

#if ZARRPOINT_LINUX
/// Whether direct writes of whole blocks go to the disk as they are. Kernels before 6.1 cannot
/// tell.
ZARRPOINT_INLINE bool takes_direct_blocks(int fd) noexcept {
#ifdef STATX_DIOALIGN
  struct ::statx info {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &info) != 0) return false;
  const auto fits = [](std::uint32_t alignment) {
    return alignment != 0 && blob_extension::block % alignment == 0;
  };
  return (info.stx_mask & STATX_DIOALIGN) != 0 && fits(info.stx_dio_mem_align) &&
         fits(info.stx_dio_offset_align) && (info.stx_attributes & STATX_ATTR_DAX) == 0;
#else
  static_cast<void>(fd);
  return false;
#endif
}

/// Whether a direct write beyond the end of a file changes its size once, and last.
ZARRPOINT_INLINE bool grows_in_one_step(int fd) noexcept {
  struct ::statfs system {};
  int flags = 0;
  return ::fstatfs(fd, &system) == 0 && static_cast<std::uint32_t>(system.f_type) == 0xef53 &&
         static_cast<std::uint64_t>(system.f_bsize) <= blob_extension::block &&
         ::ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_EXTENT_FL) != 0 &&
         takes_direct_blocks(fd);
}

/// Whether ext4 has a journal on this device, without which a power cut may tear what is changed.
ZARRPOINT_INLINE bool has_journal(dev_t device) {
  const std::string link =
      "/sys/dev/block/" + std::to_string(major(device)) + ":" + std::to_string(minor(device));
  std::array<char, 4096> target{};
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  if (size <= 0) return false;
  const std::string path(target.data(), static_cast<std::size_t>(size));
  const std::string name = path.substr(path.rfind('/') + 1);
  return ::access(("/sys/fs/ext4/" + name + "/journal_task").c_str(), F_OK) == 0;
}
#endif

ZARRPOINT_INLINE result<std::unique_ptr<blob_extension>> extended_file::open(
    std::shared_ptr<file_root> root, const store_key& key, const blob& before) {
#if ZARRPOINT_LINUX
  if (before.descriptor() < 0) return std::unique_ptr<blob_extension>();
  // Where it cannot be opened so, it can be replaced, or that tells why not.
  unique_fd fd(open_beneath(root->fd(), key, O_RDWR | O_DIRECT | O_NONBLOCK));
  // An object that is looked at under the lock stays as it is for other writers that extend it.
  if (!fd || !grows_in_one_step(fd.get()) || lock_file(fd.get(), LOCK_EX) != 0 ||
      !same_file(id_of(fd.get()), id_of(before.descriptor())))
    return std::unique_ptr<blob_extension>();
  struct ::stat info {};
  if (::fstat(fd.get(), &info) != 0 || info.st_nlink != 1 ||
      static_cast<std::uint64_t>(info.st_size) != before.size() ||
      (root->durable() && !has_journal(info.st_dev)))
    return std::unique_ptr<blob_extension>();
  return make_owned<blob_extension, extended_file>(std::move(root), key, std::move(fd),
                                                   before.size());
#else
  static_cast<void>(root), static_cast<void>(key), static_cast<void>(before);
  return std::unique_ptr<blob_extension>();  // the object is replaced
#endif
}

ZARRPOINT_INLINE extended_file::extended_file(std::shared_ptr<file_root> root, const store_key& key,
                                              unique_fd direct, std::uint64_t size)
    : root_(std::move(root)), key_(key), fd_(std::move(direct)), size_(size) {}

ZARRPOINT_INLINE result<void> extended_file::finish(bytes_view more) {
  const std::uint64_t begin = (size_ + block - 1) / block * block;
  const std::uint64_t end = begin + more.size();
  if (!fd_ || more.empty() || more.size() % block != 0 || end > max_file_size)
    return error{errc::invalid_argument,
                 "extend " + root_->describe(key_) + ": a file is extended once, by whole blocks"};
  const unique_fd fd = std::move(fd_);
  struct ::stat info {};
  if (::fstat(fd.get(), &info) != 0) return failure("extend", errno);
  if (static_cast<std::uint64_t>(info.st_size) != size_ || info.st_nlink != 1)
    return error{errc::io, "extend " + root_->describe(key_) + ": it has changed meanwhile"};
  // What would cut the write short is found while nothing has changed.
  struct ::rlimit most {};
  if (::getrlimit(RLIMIT_FSIZE, &most) == 0 && end > most.rlim_cur) return failure("extend", EFBIG);
  if (const int code = reserve_space(fd.get(), begin, more.size()); code != 0)
    return taken_back(fd.get(), "reserve space for", code);
  const ssize_t put = retry_interrupted(
      [&] { return ::pwrite(fd.get(), more.data(), more.size(), static_cast<off_t>(begin)); });
  if (put != static_cast<ssize_t>(more.size()))
    return taken_back(fd.get(), "extend", put < 0 ? errno : EIO);
  const int code = root_->durable() ? root_->sync_file(fd.get()) : 0;
  if (code == 0) return {};
  error out = failure("sync", code);
  out.code = errc::outcome_unknown;
  return out;
}

ZARRPOINT_INLINE error extended_file::failure(const char* action, int code) const {
  return system_error(action, root_->describe(key_), code);
}

ZARRPOINT_INLINE error extended_file::taken_back(int fd, const char* action, int code) const {
  error out = failure(action, code);
  if (::ftruncate(fd, static_cast<off_t>(size_)) != 0) out.code = errc::outcome_unknown;
  return out;
}

// --------------------------------------------------------------------------------- file_writer.hpp

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
  const int code = reserve_space(fd_.get(), reserved_, size - reserved_);
  if (code == ENOSPC || code == EDQUOT) return system_error("reserve space for", name(), code);
  if (code == 0) reserved_ = size;
  return {};
}

ZARRPOINT_INLINE result<void> file_writer::read(std::uint64_t offset, mutable_bytes into) const {
  const int code = read_fully(fd_.get(), offset, into);
  if (code == 0) return {};
  if (code > 0) return system_error("read", name(), code);
  return error{errc::out_of_range, "read " + name() + ": that part was not written yet"};
}

ZARRPOINT_INLINE bool is_no_link(int code) {
  // The last two: another's file, and too many links.
  for (const int one : {EOPNOTSUPP, ENOSYS, EXDEV, EPERM, EMLINK})
    if (code == one) return true;
  return false;
}

/// Replaces nothing: a second link never does. Where the file system has neither that nor a
/// rename that does not replace, it looks first. By number: see `exchange_names`.
ZARRPOINT_INLINE int rename_if_free(int directory, const char* from, const char* to) {
#if ZARRPOINT_LINUX && defined(SYS_renameat2)
  constexpr unsigned no_replace = 1;
  if (::syscall(SYS_renameat2, directory, from, directory, to, no_replace) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
#endif
  if (::linkat(directory, from, directory, to, 0) == 0)
    return ::unlinkat(directory, from, 0) == 0 ? 0 : errno;
  if (!is_no_link(errno)) return errno;
  struct ::stat info {};
  if (::fstatat(directory, to, &info, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  return ::renameat(directory, from, directory, to) == 0 ? 0 : errno;
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
    int code = 0;
    if (!root_->options().replace) {
      code = rename_if_free(parent, at_.c_str(), target.c_str());
    } else if (::renameat(parent, at_.c_str(), parent, target.c_str()) != 0) {
      code = errno;
    }
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
  unique_fd fd;
#if ZARRPOINT_LINUX
  // One that is written in its place may have been replaced: by a FIFO even, which would block.
  constexpr int flags = O_WRONLY | O_DIRECT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  fd = unique_fd(retry_interrupted([&] { return ::openat(parent_->get(), at_.c_str(), flags); }));
  if (!same_file(id_of(fd.get()), id_of(fd_.get()))) fd = unique_fd();
#endif
  direct_.open(fd_.get(), std::move(fd));
  direct_in_use_.store(true, std::memory_order_release);
}

ZARRPOINT_INLINE bool file_writer::is_ours() const noexcept {
  return !fd_ || same_file(id_of(fd_.get()), id_of(parent_->get(), at_.c_str()));
}

// --------------------------------------------------------------------------------- remove_tree.hpp

/// Removes a file, a link or an empty directory.
ZARRPOINT_INLINE bool remove_entry(int parent, const char* name) noexcept {
  return ::unlinkat(parent, name, 0) == 0 || ::unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

/// Opens a directory to remove what is in it. Its owner may do that from then on: modes that forbid
/// it bind all but root. -1 on failure.
ZARRPOINT_INLINE int open_to_remove(int parent, const char* name) noexcept {
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  int fd = open_at(parent, name, flags);
  if (fd < 0 && errno == EACCES && ::fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
    fd = open_at(parent, name, flags);
  struct ::stat info {};
  if (fd >= 0 && ::fstat(fd, &info) == 0 && (info.st_mode & 0700) != 0700)
    static_cast<void>(::fchmod(fd, 0700));
  return fd;
}

/// A directory that its owner may not write to can be moved to no other parent.
ZARRPOINT_INLINE bool raise_entry(int from, const char* name, int to, const char* raised) noexcept {
  if (::renameat(from, name, to, raised) == 0) return true;
  if (errno != EACCES) return false;
  const unique_fd opened(open_to_remove(from, name));
  return opened && ::renameat(from, name, to, raised) == 0;
}

/// Names that nothing in a tree has, without the memory of a string.
class raised_names {
 public:
  const char* next() noexcept {
    std::snprintf(text_.data(), text_.size(), "%016jx%016jx.%ju", std::uintmax_t{bits_[0]},
                  std::uintmax_t{bits_[1]}, std::uintmax_t{counter_++});
    return text_.data();
  }

 private:
  std::array<std::uint64_t, 2> bits_ = random_bits();
  std::uint64_t counter_ = 0;
  std::array<char, 64> text_{};
};

/// Removes what is in `top` and can be removed without a look into it, and moves up what lies in
/// its directories. So a tree of any depth takes two descriptors and no recursion. Returns whether
/// anything changed; `code` is why something stayed.
ZARRPOINT_INLINE bool remove_or_raise_entries(directory_stream& top, raised_names& names,
                                              int& code) noexcept {
  bool changed = false;
  top.rewind();
  while (const dirent* entry = top.next()) {
    if (remove_entry(top.fd(), entry->d_name)) {
      changed = true;
      continue;
    }
    directory_stream inner(open_to_remove(top.fd(), entry->d_name));
    if (!inner) {
      // Of a file: asked again, for the reason.
      code = errno == ENOTDIR && ::unlinkat(top.fd(), entry->d_name, 0) != 0 ? errno : ENOTEMPTY;
      continue;
    }
    while (const dirent* child = inner.next()) {
      if (remove_entry(inner.fd(), child->d_name) ||
          raise_entry(inner.fd(), child->d_name, top.fd(), names.next())) {
        changed = true;
      } else {
        code = errno;
      }
    }
    if (::unlinkat(top.fd(), entry->d_name, AT_REMOVEDIR) == 0) changed = true;
  }
  return changed;
}

ZARRPOINT_INLINE int remove_tree(int parent, const char* name) noexcept {
  if (remove_entry(parent, name)) return 0;
  int code = 0;
  {
    directory_stream top(open_to_remove(parent, name));
    if (!top) return errno == ENOENT ? 0 : errno;
    // A reader that still has it open shall not take what is left for a whole hierarchy.
    for (const char* document : {"zarr.json", ".zgroup", ".zarray"})
      ::unlinkat(top.fd(), document, 0);
    raised_names names;
    while (remove_or_raise_entries(top, names, code)) {
    }
  }
  if (::unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return 0;
  return code != 0 && (errno == ENOTEMPTY || errno == EEXIST) ? code : errno;
}

/// When anything in a file or a tree changed last. What cannot be looked through is never old.
ZARRPOINT_INLINE std::time_t last_change(int fd, int levels = 64) {
  constexpr std::time_t always = std::numeric_limits<std::time_t>::max();
  const auto newer = [](std::time_t than, const struct ::stat& info) {
    return std::max({than, info.st_mtim.tv_sec, info.st_ctim.tv_sec});
  };
  struct ::stat info {};
  if (::fstat(fd, &info) != 0) return always;
  std::time_t out = newer(0, info);
  if (!S_ISDIR(info.st_mode)) return out;
  directory_stream entries(levels == 0 ? -1 : open_at(fd, ".", O_RDONLY | O_DIRECTORY));
  if (!entries) return always;
  while (const dirent* entry = entries.next()) {
    if (::fstatat(entries.fd(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    out = newer(out, info);
    if (!S_ISDIR(info.st_mode)) continue;
    const unique_fd inner(
        open_at(entries.fd(), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    out = inner ? std::max(out, last_change(inner.get(), levels - 1)) : always;
  }
  return out;
}

/// The temporary trees and files in a directory.
ZARRPOINT_INLINE std::vector<std::string> temporary_names_in(int parent) {
  std::vector<std::string> out;
  directory_stream entries(open_at(parent, ".", O_RDONLY | O_DIRECTORY));
  if (!entries) return out;
  while (const dirent* entry = entries.next())
    for (const temporary_kind kind :
         {temporary_kind::locked, temporary_kind::unlocked, temporary_kind::aside})
      if (is_temporary_name(entry->d_name, kind)) out.emplace_back(entry->d_name);
  return out;
}

/// Whether what stepped aside for a save is all that is left of its target, or may be.
ZARRPOINT_INLINE bool is_last_copy(int parent, const std::string& name) {
  const std::string target = name.substr(1, name.size() - 1 - 5 - 32);
  return name.size() == 255 || !id_of(parent, target.c_str());
}

ZARRPOINT_INLINE std::vector<std::string> remove_abandoned(int parent, const std::string& folder,
                                                           std::time_t age) {
  std::vector<std::string> warnings;
  const std::vector<std::string> found = temporary_names_in(parent);
  if (found.empty()) return warnings;
  const bool locks = has_true_locks(parent);
  bool is_synced = false;
  for (const std::string& name : found) {
    const unique_fd tree(open_at(parent, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW));
    struct ::stat info {};
    if (!tree || ::fstat(tree.get(), &info) != 0) continue;
    if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode)) continue;
    const int locked = lock_file(tree.get(), LOCK_EX);
    if (locked == EWOULDBLOCK) continue;
    const bool is_dead = locks && locked == 0 && is_temporary_name(name, temporary_kind::locked);
    if (!is_dead && std::time(nullptr) - last_change(tree.get()) < age) continue;
    if (!same_file(id_of(tree.get()), id_of(parent, name.c_str()))) continue;
    if (is_temporary_name(name, temporary_kind::aside) && is_last_copy(parent, name)) {
      warnings.push_back(folder + name +
                         " was moved aside by a save that was killed before the new checkpoint had "
                         "its place; rename it to what it was, or remove it");
      continue;
    }
    // It may be the old tree of an exchange that is not on disk yet.
    const int code = is_synced ? 0 : sync_directory(parent);
    is_synced = code == 0;
    const int kept = code != 0 ? code : remove_tree(parent, name.c_str());
    // What others left is theirs to remove where we may not.
    if (kept != 0 && info.st_uid == ::geteuid())
      warnings.push_back(
          system_error("remove what an earlier save left,", folder + name, kept).message);
  }
  return warnings;
}

// ---------------------------------------------------------------------------------- place_lock.hpp

ZARRPOINT_INLINE result<place_lock> place_lock::take(const std::string& directory,
                                                     const char* folder) {
  const auto failed = [&](const char* action, int code) {
    return system_error(action, directory + '/' + folder, code);
  };
  if (::mkdir(directory.c_str(), 0777) == 0) {
    const unique_fd parent(open_at(AT_FDCWD, (directory + "/..").c_str(), O_RDONLY | O_DIRECTORY));
    if (const int code = parent ? sync_directory(parent.get()) : errno; code != 0)
      return failed("sync the directory of", code);
  } else if (errno != EEXIST) {
    return system_error("create", directory, errno);
  }
  const unique_fd at(open_at(AT_FDCWD, directory.c_str(), O_RDONLY | O_DIRECTORY));
  if (!at) return system_error("open", directory, errno);
  if (!has_true_locks(at.get()))
    return error{errc::unsupported, "lock " + directory + ": its file system has no true locks"};
  if (::mkdirat(at.get(), folder, 0777) != 0 && errno != EEXIST) return failed("create", errno);
  const unique_fd inner(open_at(at.get(), folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (!inner) return failed("open", errno);
  place_lock out;
  out.fd_ =
      unique_fd(open_at(inner.get(), "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666));
  if (!out.fd_) return failed("lock", errno);
  const int code = lock_file(out.fd_.get(), LOCK_EX);
  if (code == EWOULDBLOCK) {
    std::array<char, 32> text{};
    const auto got = retry_interrupted([&] { return ::pread(out.fd_.get(), text.data(), 20, 0); });
    const std::string who(text.data(), got > 0 ? std::strspn(text.data(), "0123456789") : 0);
    return error{errc::unavailable, directory + " is in use by another manager" +
                                        (who.empty() ? "" : ", of process " + who) +
                                        ": end that one, or use another directory"};
  }
  if (code != 0) return failed("lock", code);
  const std::string me = std::to_string(::getpid()) + '\n';
  // A full disk does not keep anyone from working here: it only says who it is.
  if (::ftruncate(out.fd_.get(), 0) == 0)
    static_cast<void>(write_fully(out.fd_.get(), 0, as_bytes(me)));
  out.uncleaned_ = remove_abandoned(at.get(), directory + '/');
  return out;
}

// --------------------------------------------------------------------------- publish_directory.hpp

class entry_keeper {
 public:
  entry_keeper(const tree_pair& trees, const owned_paths& owned) : trees_(trees), owned_(owned) {}

  result<std::vector<std::string>> keep() {
    int code = walk(trees_.from, trees_.to, false);
    if (code == 0) code = sync_if_changed(trees_.to);
    if (code != 0) return system_error("keep", path_, code);
    sort_by_text(kept_, [](const std::string& one) -> std::string_view { return one; });
    return std::move(kept_);
  }

 private:
  static constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  static constexpr std::size_t most_levels = 128;
  static constexpr int most_attempts = 100;

  /// The names of a directory; it is not read while it changes. 0 or the errno.
  static int names_of(int directory, std::vector<std::string>& out) {
    directory_stream stream(open_at(directory, ".", directory_flags));
    if (!stream) return errno == ENOENT ? 0 : errno;  // somebody removed it
    while (const dirent* entry = stream.next()) {
      if (!is_temporary_name(entry->d_name)) out.emplace_back(entry->d_name);
    }
    return errno;
  }

  /// `to` is -1 while the new tree need not have the directory. On failure `path_` says where.
  int walk(int from, int to, bool inside_foreign) {
    if (++levels_ > most_levels) return ELOOP;
    std::vector<std::string> names;
    if (const int code = names_of(from, names); code != 0) return code;
    for (const std::string& name : names) {
      const std::size_t length = path_.size();
      path_.append(length == 0 ? "" : "/").append(name);
      const path_owner owner = owned_.owner_of(path_);
      // What lies beneath a foreign directory is foreign, whatever its name, but for what is taken.
      if (owner != path_owner::own) {
        const int code =
            bring(from, to, name, inside_foreign ? path_owner::foreign : owner, inside_foreign);
        if (code != 0) return code;
      }
      path_.resize(length);
    }
    --levels_;
    return 0;
  }

  int sync_if_changed(int to) const { return changed_ && trees_.sync ? sync_directory(to) : 0; }

  /// What others remove meanwhile is gone, and no failure; it may be there again, too.
  int bring(int from, int to, const std::string& name, path_owner owner, bool inside_foreign) {
    const std::size_t length = path_.size();
    const std::size_t levels = levels_;
    const std::size_t count = kept_.size();
    for (int attempt = 0;; ++attempt) {
      const int code = try_to_bring(from, to, name, owner, inside_foreign);
      if (code != ENOENT) return code;
      struct ::stat info {};
      const bool is_back = ::fstatat(from, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
      if (is_back && attempt == most_attempts) return code;
      path_.resize(length);
      levels_ = levels;
      if (!is_back) return errno == ENOENT ? 0 : errno;
      kept_.resize(count);
    }
  }

  int try_to_bring(int from, int to, const std::string& name, path_owner owner,
                   bool inside_foreign) {
    struct ::stat info {};
    if (::fstatat(from, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return errno;
    const bool is_directory = S_ISDIR(info.st_mode);
    const unique_fd inner(is_directory ? open_at(from, name.c_str(), directory_flags) : -1);
    if (is_directory && !inner) return errno;
    // A directory of both comes to be when something of it is to be kept.
    if (is_directory && owner == path_owner::mixed) return walk(inner.get(), -1, false);
    const unique_fd parent = to < 0 ? open_parent() : unique_fd();
    if (to < 0 && !parent) return errno;
    const int into = to < 0 ? parent.get() : to;
    const int code = is_directory ? bring_directory(inner.get(), into, name, inside_foreign)
                                  : bring_file(from, into, name, info.st_mode);
    if (code != 0) return code == EEXIST ? 0 : code;  // the new tree has one of its own
    if (!is_directory) changed_ = true;
    if (!is_directory && !inside_foreign) kept_.push_back(path_);
    return parent ? sync_if_changed(parent.get()) : 0;
  }

  int bring_directory(int from, int into, const std::string& name, bool inside_foreign) {
    // Its own mode, which may forbid writing, is given to it when it is complete.
    const bool made = ::mkdirat(into, name.c_str(), 0700) == 0;
    if (!made && errno != EEXIST) return errno;
    const unique_fd target(open_at(into, name.c_str(), directory_flags));
    if (!target) return errno == ENOTDIR || errno == ELOOP ? EEXIST : errno;
    changed_ = changed_ || made;
    if (!inside_foreign) kept_.push_back(path_ + "/");
    if (const int code = walk(from, target.get(), true); code != 0) return code;
    struct ::stat info {};
    // Not every file system can have every mode; what is in it is kept all the same.
    if (made && ::fstat(from, &info) == 0)
      static_cast<void>(::fchmod(target.get(), info.st_mode & 07777));
    return sync_if_changed(target.get());
  }

  /// The directory of `path_` in the new tree, made if it is not there.
  unique_fd open_parent() const {
    unique_fd at(open_at(trees_.to, ".", directory_flags));
    for (std::size_t begin = 0; at;) {
      const std::size_t end = path_.find('/', begin);
      if (end == path_.npos) break;
      const std::string step = path_.substr(begin, end - begin);
      if (::mkdirat(at.get(), step.c_str(), 0777) != 0 && errno != EEXIST) return unique_fd();
      if (trees_.sync) static_cast<void>(sync_directory(at.get()));
      at = unique_fd(open_at(at.get(), step.c_str(), directory_flags));
      begin = end + 1;
    }
    return at;
  }

  int bring_file(int from, int to, const std::string& name, mode_t mode) const {
    if (::linkat(from, name.c_str(), to, name.c_str(), 0) == 0) return 0;
    if (!is_no_link(errno)) return errno;
    if (S_ISLNK(mode)) {
      std::string target(4096, '\0');
      const ssize_t size = ::readlinkat(from, name.c_str(), target.data(), target.size() - 1);
      if (size < 0) return errno;
      target.resize(static_cast<std::size_t>(size));
      return ::symlinkat(target.c_str(), to, name.c_str()) == 0 ? 0 : errno;
    }
    return S_ISREG(mode) ? copy_file(from, to, name, mode) : EOPNOTSUPP;
  }

  /// A copy has a temporary name until it is complete: the new tree may be in its place already.
  int copy_file(int from, int to, const std::string& name, mode_t mode) const {
    struct ::stat info {};
    if (::fstatat(to, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
    const unique_fd source(open_at(from, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW));
    if (!source) return errno;
    const std::string at = temporary_name(name, temporary_kind::unlocked);
    // The copy must not run as its owner or group: it may have another owner now.
    const unique_fd target(
        open_at(to, at.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode & 0777));
    if (!target) return errno;
    int code = copy_bytes(source.get(), target.get());
    if (code == 0) code = rename_if_free(to, at.c_str(), name.c_str());
    if (code != 0) ::unlinkat(to, at.c_str(), 0);
    return code;
  }

  int copy_bytes(int source, int target) const {
    std::vector<std::byte> part(std::size_t{1} << 20);
    for (std::uint64_t offset = 0;;) {
      const ssize_t count = retry_interrupted(
          [&] { return ::pread(source, part.data(), part.size(), static_cast<off_t>(offset)); });
      if (count < 0) return errno;
      if (count == 0) break;
      const auto size = static_cast<std::size_t>(count);
      if (const int code = write_fully(target, offset, bytes_view(part.data(), size)); code != 0)
        return code;
      offset += size;
    }
    return trees_.sync && retry_interrupted([&] { return ::fsync(target); }) != 0 ? errno : 0;
  }

  const tree_pair& trees_;
  const owned_paths& owned_;
  std::string path_;
  std::vector<std::string> kept_;
  std::size_t levels_ = 0;
  bool changed_ = false;
};

ZARRPOINT_INLINE result<std::vector<std::string>> keep_entries(const tree_pair& trees,
                                                               const owned_paths& owned) {
  return entry_keeper(trees, owned).keep();
}

ZARRPOINT_INLINE int check_free(int parent, const char* name) noexcept {
  struct ::stat info {};
  if (::fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT ? 0 : errno;
  if (!S_ISDIR(info.st_mode)) return EEXIST;
  directory_stream stream(open_at(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (!stream) return errno;
  return stream.next() != nullptr ? EEXIST : errno;
}

ZARRPOINT_INLINE directory_publication::directory_publication(std::shared_ptr<file_root> root,
                                                              const store_key& key,
                                                              publish_options how)
    : base_(std::move(root)),
      name_(base_->describe(key)),
      target_(key.name()),
      mark_(how.mark),
      how_(how) {}

ZARRPOINT_INLINE int exchange_names(int parent, const char* one, const char* other) noexcept {
#if ZARRPOINT_LINUX && defined(SYS_renameat2)
  constexpr unsigned exchange = 2;
  return ::syscall(SYS_renameat2, parent, one, parent, other, exchange) == 0 ? 0 : errno;
#else
  static_cast<void>(parent), static_cast<void>(one), static_cast<void>(other);
  return ENOSYS;
#endif
}

ZARRPOINT_INLINE result<std::unique_ptr<directory_publication>> directory_publication::begin(
    std::shared_ptr<file_root> root, const store_key& key, const publish_options& how) {
  auto out = std::make_unique<directory_publication>(std::move(root), key, how);
  out->parent_ = out->base_->parent_of(key, how.sync);
  if (!out->parent_) return system_error("create", out->name(), errno);
  const int parent = out->parent_.get();
  const int code = how.overwrite ? 0 : check_free(parent, out->target_.c_str());
  if (code == EEXIST) return out->refuse();
  if (code != 0) return system_error("create", out->name(), code);
  out->late_.uncleaned = remove_abandoned(parent, out->folder());
  unique_fd directory = out->make_tree();
  if (!directory) return system_error("create", out->name(), errno);
  out->tree_ = file_root::staged(std::move(directory), out->name(), how.sync);
  out->tree_->tell(how.observer);
  out->tree_->expect(how.objects);
  if (how.sync && how.write_behind != nullptr) out->tree_->behind() = how.write_behind();
  return out;
}

ZARRPOINT_INLINE unique_fd directory_publication::make_tree() {
  const int parent = parent_.get();
  temporary_kind kind = has_true_locks(parent) ? temporary_kind::locked : temporary_kind::unlocked;
  for (int attempt = 0;; ++attempt) {
    // Known before it is made, so that it is removed whatever fails.
    at_ = temporary_name(target_ + mark_, kind);
    const char* const at = at_.c_str();
    if (::mkdirat(parent, at, 0777) != 0) {
      const int failed = errno;
      at_.clear();
      return errno = failed, unique_fd();
    }
    // Opened before the first write, see `file_root::sync_tree`.
    unique_fd directory(open_at(parent, at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    const int code = directory ? lock_file(directory.get(), LOCK_EX) : errno;
    const bool is_ours = same_file(id_of(directory.get()), id_of(parent, at));
    if (directory && is_ours && (code == 0 || kind == temporary_kind::unlocked)) return directory;
    // Without locks after all; or somebody took it for abandoned before it had its lock.
    const bool is_taken = code == EWOULDBLOCK || code == ENOENT || (code == 0 && !is_ours);
    if (!is_taken && kind == temporary_kind::unlocked) return errno = code, unique_fd();
    if (!is_taken) kind = temporary_kind::unlocked;
    ::unlinkat(parent, at, AT_REMOVEDIR);
    if (attempt == 100) return errno = EBUSY, unique_fd();
  }
}

ZARRPOINT_INLINE directory_publication::~directory_publication() {
  if (!at_.empty()) remove_tree(parent_.get(), at_.c_str());
}

ZARRPOINT_INLINE result<std::vector<std::string>> directory_publication::keep(
    const owned_paths& owned) {
  unique_fd old(open_at(parent_.get(), target_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  // Nothing, or no directory: that nothing of others is lost is for `commit` to see to.
  if (!old && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
    return std::vector<std::string>();
  if (!old) return system_error("keep what is in", name(), errno);
  owned_ = owned;
  old_ = std::move(old);
  return keep_entries({old_.get(), tree_->fd(), how_.sync}, owned).at("publish " + name());
}

ZARRPOINT_INLINE result<void> directory_publication::commit() {
  if (at_.empty() || tree_->writers() != 0)
    return error{errc::invalid_argument,
                 "publish " + name() + ": " +
                     (at_.empty() ? "it is published already" : "a file is still being written")};
  const phase_scope commits(how_.observer, phase::commit, name_, 0);
  tree_->stop_keeping_directories();
  if (how_.sync) {
    if (const int code = tree_->sync_tree(); code != 0) return system_error("sync", name(), code);
  }
  const file_root::moving_directories moving(*base_);
  // A plain rename replaces nothing but an empty directory.
  const int code = rename_to_target();
  if (code == EEXIST || code == ENOTEMPTY || code == ENOTDIR)
    return how_.overwrite ? replace() : refuse();
  if (code != 0) return system_error("publish", name(), code);
  at_.clear();
  unlock();
  return sync_parent();
}

ZARRPOINT_INLINE void directory_publication::unlock() const noexcept {
  // What is published may be held by readers.
  static_cast<void>(lock_file(tree_->fd(), LOCK_UN));
}

ZARRPOINT_INLINE error directory_publication::refuse() const {
  return {errc::already_exists, "publish " + name() + ": it is there already"};
}

ZARRPOINT_INLINE int directory_publication::rename_to_target() noexcept {
  const int parent = parent_.get();
  const int code = ::renameat(parent, at_.c_str(), parent, target_.c_str()) == 0 ? 0 : errno;
  return rename_outcome(code, id_of(tree_->fd()), parent, target_.c_str());
}

ZARRPOINT_INLINE int directory_publication::exchange_with_target() noexcept {
  const int code = exchange_names(parent_.get(), at_.c_str(), target_.c_str());
  return rename_outcome(code, id_of(tree_->fd()), parent_.get(), target_.c_str());
}

ZARRPOINT_INLINE result<void> directory_publication::replace() {
  // Nobody shall take what is there for abandoned while `keep_late` looks through it.
  if (old_) static_cast<void>(lock_file(old_.get(), LOCK_SH));
  const int code = exchange_with_target();
  if (code == EINVAL || code == ENOSYS) return replace_in_two_steps();
  if (code == ENOENT) return system_error("publish", name(), EBUSY);  // someone else is at it
  if (code != 0) return system_error("publish", name(), code);
  unlock();
  // The temporary name is now that of the old tree, which stays until the exchange is durable.
  return remove_old(std::exchange(at_, {}));
}

ZARRPOINT_INLINE result<void> directory_publication::replace_in_two_steps() {
  const int parent = parent_.get();
  const std::string aside = temporary_name(target_, temporary_kind::aside);
  if (::renameat(parent, target_.c_str(), parent, aside.c_str()) != 0)
    return system_error("publish", name(), errno);
  if (const int code = rename_to_target(); code != 0) {
    if (::renameat(parent, aside.c_str(), parent, target_.c_str()) != 0)
      return error{errc::outcome_unknown,
                   "publish " + name() +
                       ": what was there before could not be put back; it is now " + aside};
    return system_error("publish", name(), code);
  }
  at_.clear();
  unlock();
  return remove_old(aside);
}

ZARRPOINT_INLINE result<void> directory_publication::remove_old(const std::string& old) {
  // The text is made only where it is needed: memory may be missing, and the old tree would stay.
  if (result<void> synced = sync_parent(); !synced)
    return std::move(synced).failure().at("the old checkpoint is kept as " + set_aside(old));
  if (!keep_late(old) || is_held(old)) return {};
  if (const int code = remove_tree(parent_.get(), old.c_str()); code != 0) {
    // The new tree is in its place: that this cannot be told of is not a failure.
    static_cast<void>(guarded([&]() -> result<void> {
      late_.uncleaned.push_back(
          system_error("remove the checkpoint that was replaced,", folder() + old, code).message);
      return {};
    }));
  }
  return {};
}

ZARRPOINT_INLINE bool directory_publication::is_held(const std::string& old) {
  // Another descriptor than that of our own lock would be refused by it.
  if (!old_ || !same_file(id_of(old_.get()), id_of(parent_.get(), old.c_str())))
    old_ = unique_fd(open_at(parent_.get(), old.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  return old_ && lock_file(old_.get(), LOCK_EX) == EWOULDBLOCK;
}

ZARRPOINT_INLINE bool directory_publication::keep_late(const std::string& old) {
  // The tree of another publication that came in between has had what is foreign from its own
  // `keep`, and what it owns is not known here.
  if (!old_ || !same_file(id_of(old_.get()), id_of(parent_.get(), old.c_str()))) return true;
  // The new tree is in its place by now: what goes wrong here is told, and is not a failure.
  auto found = guarded([&] { return keep_entries({old_.get(), tree_->fd(), how_.sync}, owned_); });
  if (found) {
    late_.kept = *std::move(found);
    return true;
  }
  if (!guarded([&]() -> result<void> { return tell_late(old, found.failure()), result<void>(); }))
    late_.left = "no memory";
  return false;
}

ZARRPOINT_INLINE void directory_publication::tell_late(const std::string& old,
                                                       const error& failure) {
  late_.left = "some files that others wrote into " + name() +
               " during the save could not be kept; the replaced directory is beside it, as " +
               set_aside(old) + ": " + failure.message;
}

ZARRPOINT_INLINE std::string directory_publication::set_aside(const std::string& old) const {
  // `remove_abandoned` removes what has a temporary name.
  std::string aside = temporary_name(target_, temporary_kind::unlocked);
  aside.replace(aside.size() - 32 - 5, 5, ".old.");
  if (::renameat(parent_.get(), old.c_str(), parent_.get(), aside.c_str()) != 0) return old;
  static_cast<void>(sync_parent());
  return aside;
}

ZARRPOINT_INLINE result<void> directory_publication::sync_parent() const {
  const int code = how_.sync ? sync_directory(parent_.get()) : 0;
  if (code == 0) return {};
  error failure = system_error("sync the directory of", name(), code);
  failure.code = errc::outcome_unknown;
  return failure;
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/store/base/bodies.hpp>
#include <zarrpoint/store/file/file_bodies.hpp>
#endif

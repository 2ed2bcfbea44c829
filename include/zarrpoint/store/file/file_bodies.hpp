// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/store/file/directory.hpp>
#include <zarrpoint/store/file/extended_file.hpp>
#include <zarrpoint/store/file/file_blob.hpp>
#include <zarrpoint/store/file/file_root.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/file/file_writer.hpp>
#include <zarrpoint/store/file/kept_directories.hpp>
#include <zarrpoint/store/file/path_watch.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/store/file/publish_directory.hpp>
#include <zarrpoint/store/file/remove_tree.hpp>

#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#if ZARRPOINT_LINUX
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#endif

namespace zarrpoint { inline namespace v0 {

namespace detail {

// --------------------------------------------------------------------------------------- posix.hpp

ZARRPOINT_INLINE unique_fd& unique_fd::operator=(unique_fd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

ZARRPOINT_INLINE unique_fd::~unique_fd() {
  if (fd_ >= 0) ::close(fd_);
}

ZARRPOINT_INLINE int unique_fd::close() noexcept {
  const int fd = std::exchange(fd_, -1);
  return fd < 0 || ::close(fd) == 0 || errno == EINTR ? 0 : errno;
}

// strerror_r of glibc gives the text; that of musl a code, and the text where it is told to.
inline const char* code_text(const char* given, const char*) { return given; }
inline const char* code_text(int, const char* filled) { return filled; }

ZARRPOINT_INLINE int open_at(int directory, const char* name, int flags, mode_t mode) noexcept {
  return retry_interrupted([&] { return ::openat(directory, name, flags | O_CLOEXEC, mode); });
}

ZARRPOINT_INLINE error system_error(const char* action, std::string_view name, int code) {
  errc kind = errc::io;
  if (code == ENOENT) kind = errc::not_found;
  if (code == EEXIST || code == ENOTEMPTY) kind = errc::already_exists;
  if (code == ENOMEM) kind = errc::resource_limit;
  std::string text(action);
  text.append(" ").append(name).append(": ");
  // Not by std::generic_category(), with which all comes that libstdc++ throws.
  std::array<char, 128> filled{};
  text += code == ELOOP
              ? "the path has a symbolic link, and links are not followed"
              : code_text(::strerror_r(code, filled.data(), filled.size()), filled.data());
  return {kind, std::move(text)};
}

ZARRPOINT_INLINE int read_fully(int fd, std::uint64_t offset, mutable_bytes into) noexcept {
  while (!into.empty()) {
    const ssize_t count = ::pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
    if (count > 0) {
      into = into.subspan(static_cast<std::size_t>(count));
      offset += static_cast<std::uint64_t>(count);
    } else if (count == 0) {
      return -1;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

ZARRPOINT_INLINE int write_fully(int fd, std::uint64_t offset, bytes_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(count));
      offset += static_cast<std::uint64_t>(count);
    } else if (count == 0) {
      return EIO;  // a write of more than nothing that writes nothing would loop for ever
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

ZARRPOINT_INLINE int sync_directory(int fd) noexcept {
  const int code = retry_interrupted([fd] { return ::fsync(fd); }) == 0 ? 0 : errno;
  return code == EINVAL || code == ENOTSUP ? 0 : code;
}

ZARRPOINT_INLINE unique_fd open_direct(int fd) {
#if ZARRPOINT_LINUX
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return unique_fd(
      retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC); }));
#else
  return static_cast<void>(fd), unique_fd();
#endif
}

ZARRPOINT_INLINE std::optional<file_id> id_of(int fd) noexcept {
  struct ::stat info {};
  if (::fstat(fd, &info) != 0) return std::nullopt;
  return file_id{info.st_dev, info.st_ino};
}

ZARRPOINT_INLINE std::optional<file_id> id_of(int parent, const char* name) noexcept {
  struct ::stat info {};
  if (::fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return file_id{info.st_dev, info.st_ino};
}

ZARRPOINT_INLINE std::optional<file_id> id_of(const char* path) noexcept {
  struct ::stat info {};
  if (::stat(path, &info) != 0) return std::nullopt;
  return file_id{info.st_dev, info.st_ino};
}

ZARRPOINT_INLINE bool same_file(const std::optional<file_id>& a,
                                const std::optional<file_id>& b) noexcept {
  return a && b && *a == *b;
}

ZARRPOINT_INLINE bool is_link(const std::string& path) noexcept {
  struct ::stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

ZARRPOINT_INLINE int rename_outcome(int code, const std::optional<file_id>& ours, int parent,
                                    const char* name) noexcept {
  return code != 0 && same_file(ours, id_of(parent, name)) ? 0 : code;
}

ZARRPOINT_INLINE int lock_file(int fd, int kind) noexcept {
  return retry_interrupted([&] { return ::flock(fd, kind | LOCK_NB); }) == 0 ? 0 : errno;
}

#if ZARRPOINT_LINUX
/// Whether a file lies on a file system of one of these types: see statfs(2).
inline bool is_on_one_of(std::span<const std::uint32_t> types, int fd) noexcept {
  struct ::statfs info {};
  return ::fstatfs(fd, &info) == 0 &&
         std::find(types.begin(), types.end(), static_cast<std::uint32_t>(info.f_type)) !=
             types.end();
}
#endif

ZARRPOINT_INLINE bool has_true_locks(int fd) noexcept {
#if ZARRPOINT_LINUX
  // ext4, XFS, btrfs, F2FS, bcachefs, ZFS, tmpfs, ramfs, overlayfs.
  constexpr std::array<std::uint32_t, 9> types = {0xef53,     0x58465342, 0x9123683e,
                                                  0xf2f52010, 0xca451a4e, 0x2fc12fc1,
                                                  0x01021994, 0x858458f6, 0x794c7630};
  return is_on_one_of(types, fd);
#else
  return static_cast<void>(fd), false;
#endif
}

ZARRPOINT_INLINE void wait_a_moment() noexcept {
  const struct ::timespec moment { 0, 1'000'000 };
  static_cast<void>(::nanosleep(&moment, nullptr));
}

/// 128 bits that no other call in this process gets, and hardly one in another.
ZARRPOINT_INLINE std::array<std::uint64_t, 2> unique_bits() noexcept {
  static std::atomic<std::uint32_t> calls{0};
  struct ::timespec now {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const auto seconds = static_cast<std::uint64_t>(now.tv_sec);
  const auto process = static_cast<std::uint64_t>(::getpid());
  return {seconds * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec),
          process << 32 | calls.fetch_add(1, std::memory_order_relaxed)};
}

ZARRPOINT_INLINE std::array<std::uint64_t, 2> random_bits() noexcept {
  std::array<std::uint64_t, 2> bits{};
  // Names are still created exclusively: a collision is an error, never a mix-up.
  if (::getentropy(bits.data(), sizeof bits) != 0) bits = unique_bits();
  return bits;
}

ZARRPOINT_INLINE std::string random_id() {
  std::string text;
  for (const std::uint64_t half : random_bits()) {
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[half >> shift & 15];
  }
  return text;
}

ZARRPOINT_INLINE std::string temporary_prefix(std::string_view final_name) {
  std::size_t kept = std::min<std::size_t>(final_name.size(), 255 - 1 - 5 - 32);
  while (kept > 0 && kept < final_name.size() &&
         (static_cast<unsigned char>(final_name[kept]) & 0xc0) == 0x80)
    --kept;
  std::string prefix(".");
  return prefix.append(final_name.substr(0, kept)).append(".tmp.");
}

/// The last eight digits of a temporary name, of which `text` is all before: FNV-1a.
ZARRPOINT_INLINE std::array<char, 8> temporary_mark(std::string_view text,
                                                    temporary_kind kind) noexcept {
  std::uint32_t hash = 2166136261U + static_cast<std::uint32_t>(kind);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  std::array<char, 8> digits{};
  for (char& digit : digits) {
    digit = "0123456789abcdef"[hash >> 28];
    hash <<= 4;
  }
  return digits;
}

ZARRPOINT_INLINE std::string temporary_name(std::string_view final_name, temporary_kind kind) {
  std::string name = temporary_prefix(final_name) + random_id();
  const auto mark = temporary_mark(std::string_view(name).substr(0, name.size() - 8), kind);
  std::copy(mark.begin(), mark.end(), name.end() - 8);
  return name;
}

ZARRPOINT_INLINE bool is_temporary_name(std::string_view name) noexcept {
  if (name.size() < 1 + 5 + 32 || name.front() != '.') return false;
  const std::string_view tail = name.substr(name.size() - 5 - 32);
  return tail.starts_with(".tmp.") &&
         tail.find_first_not_of("0123456789abcdef", 5) == std::string_view::npos;
}

ZARRPOINT_INLINE bool is_temporary_name(std::string_view name, temporary_kind kind) noexcept {
  if (!is_temporary_name(name)) return false;
  const auto mark = temporary_mark(name.substr(0, name.size() - 8), kind);
  return name.ends_with(std::string_view(mark.data(), mark.size()));
}

// ----------------------------------------------------------------------------------- directory.hpp

/// The kernel's `struct open_how`; its header is missing where the kernel headers are old.
struct open_how {
  std::uint64_t flags;
  std::uint64_t mode;
  std::uint64_t resolve;
};

/// Whether an `openat2` that failed so will always do: the kernel or a sandbox forbids it. All
/// else, such as too many open files, says nothing about the next call.
ZARRPOINT_INLINE bool is_lasting_refusal(int code) noexcept {
  return code == ENOSYS || code == EPERM || code == EACCES || code == EINVAL || code == E2BIG;
}

ZARRPOINT_INLINE std::atomic<confinement>& process_confinement() noexcept {
  static std::atomic<confinement> chosen{confinement::unknown};
  return chosen;
}

// RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS, and RESOLVE_NO_SYMLINKS with them.
inline constexpr std::uint64_t beneath_through_links = 0x08 | 0x02;
inline constexpr std::uint64_t beneath_without_links = beneath_through_links | 0x04;

ZARRPOINT_INLINE int open_by_kernel(int root, const char* path, int flags, mode_t mode,
                                    std::uint64_t resolve = beneath_without_links) noexcept {
#if ZARRPOINT_LINUX && defined(SYS_openat2)
  const bool creates = (flags & O_CREAT) != 0;
  const open_how how{static_cast<std::uint64_t>(flags), creates ? mode : 0U, resolve};
  // EAGAIN: a directory on the way was renamed meanwhile.
  for (int attempt = 0;; ++attempt) {
    const long fd = ::syscall(SYS_openat2, root, path, &how, sizeof how);
    if (fd >= 0 || (errno != EINTR && errno != EAGAIN) || attempt == 100)
      return static_cast<int>(fd);
  }
#else
  static_cast<void>(root), static_cast<void>(path), static_cast<void>(flags);
  static_cast<void>(mode), static_cast<void>(resolve);
  errno = ENOSYS;
  return -1;
#endif
}

ZARRPOINT_INLINE int open_by_segment(int root, std::string_view path, int flags,
                                     mode_t mode) noexcept {
  unique_fd at;
  for (;;) {
    const int base = at ? at.get() : root;
    const std::size_t slash = path.find('/');
    const std::string segment(path.substr(0, slash));
    const bool last = slash == std::string_view::npos;
    const int how = last ? flags : open_as_name | O_DIRECTORY | O_CLOEXEC;
    const int fd =
        retry_interrupted([&] { return ::openat(base, segment.c_str(), how | O_NOFOLLOW, mode); });
    if (fd < 0 && errno == ENOTDIR) {
      // O_DIRECTORY and O_NOFOLLOW together call a symbolic link "not a directory".
      struct ::stat info {};
      const bool link = ::fstatat(base, segment.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                        S_ISLNK(info.st_mode);
      errno = link ? ELOOP : ENOTDIR;
    }
    if (last || fd < 0) return fd;
    at = unique_fd(fd);
    path.remove_prefix(slash + 1);
  }
}

ZARRPOINT_INLINE bool confines_by_kernel(int root) noexcept {
  std::atomic<confinement>& chosen = process_confinement();
  confinement how = chosen.load(std::memory_order_relaxed);
  if (how == confinement::unknown) {
    // Asked of a path that always opens: sandboxes answer EPERM, which could mean the file too.
    const unique_fd probe(open_by_kernel(root, ".", open_as_name | O_DIRECTORY | O_CLOEXEC, 0));
    const bool lasts = probe || is_lasting_refusal(errno);
    how = probe ? confinement::by_kernel : confinement::by_segment;
    if (lasts) chosen.store(how, std::memory_order_relaxed);
  }
  return how == confinement::by_kernel;
}

ZARRPOINT_INLINE int open_beneath(int root, const store_key& key, int flags, mode_t mode) noexcept {
  flags |= O_CLOEXEC;
  const char* path = key.is_root() ? "." : key.c_str();
  return confines_by_kernel(root) ? open_by_kernel(root, path, flags, mode)
                                  : open_by_segment(root, path, flags, mode);
}

ZARRPOINT_INLINE int open_in_scope(int root, const char* path, int flags,
                                   link_scope scope) noexcept {
  flags |= O_CLOEXEC;
  if (scope == link_scope::beneath_root)
    return open_by_kernel(root, path, flags, 0, beneath_through_links);
  return retry_interrupted([&] { return ::openat(root, path, flags); });
}

/// Whether what is not there is so because a link on the way leads nowhere.
ZARRPOINT_INLINE bool has_broken_link(int root, std::string_view path, link_scope scope) noexcept {
  std::array<char, 1025> text{};  // no key is longer
  for (std::size_t i = 0; i <= path.size(); ++i) {
    if (i == path.size() || path[i] == '/') {
      const unique_fd there(open_in_scope(root, text.data(), open_as_name, scope));
      if (!there) return errno == ENOENT && id_of(root, text.data());
    }
    if (i < path.size()) text[i] = path[i];
  }
  return false;
}

ZARRPOINT_INLINE int open_through_links(int root, const store_key& key, int flags,
                                        link_scope scope) noexcept {
  const char* path = key.is_root() ? "." : key.c_str();
  const int fd = open_in_scope(root, path, flags, scope);
  if (fd < 0 && errno == ENOENT) errno = has_broken_link(root, path, scope) ? ENOLINK : ENOENT;
  return fd;
}

ZARRPOINT_INLINE directory_stream::directory_stream(int fd) noexcept
    : stream_(fd < 0 ? nullptr : ::fdopendir(fd)) {
  if (stream_ == nullptr && fd >= 0) {
    const int code = errno;
    ::close(fd);
    errno = code;
  }
}

ZARRPOINT_INLINE directory_stream::~directory_stream() {
  if (stream_ != nullptr) ::closedir(stream_);
}

ZARRPOINT_INLINE const dirent* directory_stream::next() noexcept {
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(stream_);
    if (entry == nullptr) return nullptr;
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") return entry;
  }
}

// ---------------------------------------------------------------------------- kept_directories.hpp

ZARRPOINT_INLINE shared_directory share_directory(unique_fd open) {
  return open ? make_counted<const unique_fd>(std::move(open)) : nullptr;
}

ZARRPOINT_INLINE std::uint64_t kept_directories::drop() noexcept {
  const std::lock_guard lock(mutex_);
  for (entry& each : entries_) each.open.reset();
  return ++age_;
}

ZARRPOINT_INLINE shared_directory kept_directories::find(std::string_view path,
                                                         std::uint64_t& age) {
  const std::lock_guard lock(mutex_);
  age = age_;
  for (entry& each : entries_) {
    if (!each.open || each.path != path) continue;
    each.used = ++calls_;
    return each.open;
  }
  return {};
}

ZARRPOINT_INLINE void kept_directories::keep(std::string_view path, shared_directory open,
                                             std::uint64_t age) {
  std::string owned(path);
  const std::lock_guard lock(mutex_);
  if (age != age_) return;
  entry* place = entries_;
  for (entry& each : entries_) {
    if (!each.open) each.used = 0;
    if (each.used < place->used) place = &each;
  }
  place->path.swap(owned);
  place->open = std::move(open);
  place->used = ++calls_;
}

// ----------------------------------------------------------------------------------- file_root.hpp

/// Makes all of a file system durable, where `syncfs_is_reliable`; 0 or the errno.
inline int sync_file_system(int fd) noexcept {
#if ZARRPOINT_LINUX
  return retry_interrupted([fd] { return ::syncfs(fd); }) == 0 ? 0 : errno;
#else
  return static_cast<void>(fd), ENOSYS;
#endif
}

ZARRPOINT_INLINE bool syncfs_is_reliable(int fd) noexcept {
#if ZARRPOINT_LINUX
  struct ::utsname kernel {};
  int major = 0, minor = 0;
  if (::uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2)
    return false;
  if (major < 5 || (major == 5 && minor < 8)) return false;
  // ext4, XFS, btrfs, F2FS, tmpfs.
  constexpr std::array<std::uint32_t, 5> types = {0xef53, 0x58465342, 0x9123683e, 0xf2f52010,
                                                  0x01021994};
  return is_on_one_of(types, fd);
#else
  return static_cast<void>(fd), false;
#endif
}

ZARRPOINT_INLINE file_root::file_root(unique_fd directory, std::string path, file_store_options how)
    : fd_(std::move(directory)), name_(std::move(path)), options_(how) {}

ZARRPOINT_INLINE std::shared_ptr<file_root> file_root::staged(unique_fd directory, std::string path,
                                                              bool durable) {
  const int fd = directory.get();
  auto out = detail::make_counted<file_root>(std::move(directory), std::move(path),
                                             file_store_options{.atomic = false});
  out->durable_tree_ = durable;
  out->keeps_directories_ = true;
  out->syncs_as_one_ = durable && syncfs_is_reliable(fd);
  return out;
}

ZARRPOINT_INLINE temporary_kind file_root::owner_kind() noexcept {
  int known = has_locks_.load(std::memory_order_relaxed);
  if (known < 0) has_locks_.store(known = has_true_locks(fd()) ? 1 : 0, std::memory_order_relaxed);
  return known != 0 ? temporary_kind::locked : temporary_kind::unlocked;
}

ZARRPOINT_INLINE std::string file_root::describe(const store_key& key) const {
  if (key.is_root()) return name_;
  std::string text = name_;
  if (!text.ends_with('/')) text += '/';
  return text.append(key.str());
}

ZARRPOINT_INLINE int file_root::open(const store_key& key, int flags) const noexcept {
  return options_.follow_links == link_scope::none
             ? open_beneath(fd(), key, flags)
             : open_through_links(fd(), key, flags, options_.follow_links);
}

ZARRPOINT_INLINE error file_root::open_failure(const char* action, const store_key& key,
                                               int code) const {
  error out = system_error(action, describe(key), code);
  if (options_.follow_links == link_scope::none) return out;
  const char* const why = code == ELOOP     ? "its symbolic links lead in a circle"
                          : code == EXDEV   ? "a symbolic link leads out of the store"
                          : code == ENOLINK ? "a symbolic link leads nowhere"
                                            : nullptr;
  if (why != nullptr)
    out.message = std::string(action).append(" ").append(describe(key)).append(": ").append(why);
  return out;
}

ZARRPOINT_INLINE unique_fd file_root::parent_of(const store_key& key, bool sync) {
  std::unique_lock lock(mutex_, std::defer_lock);
  // What one thread has made and not yet synced, no other may find and call durable.
  if (sync) lock.lock();
  return unique_fd(make_directories(fd(), key.parent(), [&](int parent, const store_key& made) {
    if (sync) return sync_directory(parent);
    const std::lock_guard guard(mutex_);
    if (durable_tree_) made_.push_back(made);
    return 0;
  }));
}

ZARRPOINT_INLINE shared_directory file_root::shared_parent_of(const store_key& key) {
  if (!keeps_directories_.load(std::memory_order_relaxed))
    return share_directory(parent_of(key, options_.sync));
  return kept_.make(fd(), key.parent(), [&](int, const store_key& made) {
    const std::lock_guard guard(mutex_);
    if (durable_tree_) made_.push_back(made);
    return 0;
  });
}

ZARRPOINT_INLINE int file_root::sync_file(int file) noexcept {
  const bool few = synced_.fetch_add(1, std::memory_order_relaxed) < few_files;
  if (syncs_as_one_ && !few) {
    unsynced_.store(true, std::memory_order_relaxed);
    return 0;
  }
  const phase_scope syncs(observer_, phase::sync, name_, 0);
  return note(retry_interrupted([&] { return ::fdatasync(file); }) == 0 ? 0 : errno);
}

ZARRPOINT_INLINE bool file_root::share(const store_key& key, int file) {
  const shared_directory parent = shared_parent_of(key);
  // By the descriptor, so that it is the file that was opened, whatever has its name by now.
  char opened[32], name[256] = {};
  std::snprintf(opened, sizeof opened, "/proc/self/fd/%d", file);
  std::memcpy(name, key.name().data(), key.name().size());  // 255 at most
  // It may have been written by one who did not sync.
  return parent && ::linkat(AT_FDCWD, opened, parent->get(), name, AT_SYMLINK_FOLLOW) == 0 &&
         (!durable() || sync_file(file) == 0) &&
         (!options_.sync || sync_directory(parent->get()) == 0);
}

ZARRPOINT_INLINE int file_root::sync_tree() noexcept {
  if (const int code = failed_.load(std::memory_order_relaxed); code != 0) return code;
  const phase_scope syncs(observer_, phase::sync, name_, 0);
  if (unsynced_.load(std::memory_order_relaxed))
    return note(sync_file_system(fd()));  // directories included
  const std::lock_guard lock(mutex_);
  // In any order: the tree is published when all of them are on disk.
  for (const store_key& key : made_) {
    const unique_fd directory(open_beneath(fd(), key, O_RDONLY | O_DIRECTORY));
    const int code = directory ? sync_directory(directory.get()) : errno;
    if (code != 0) return note(code);
  }
  return note(sync_directory(fd()));
}

ZARRPOINT_INLINE int file_root::note(int code) noexcept {
  if (code != 0) failed_.store(code, std::memory_order_relaxed);
  return code;
}

// ----------------------------------------------------------------------------------- file_blob.hpp

/// Since 1970, in nanoseconds.
inline std::uint64_t nanoseconds(const struct ::timespec& at) noexcept {
  return static_cast<std::uint64_t>(at.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(at.tv_nsec);
}

ZARRPOINT_INLINE file_blob::file_blob(unique_fd fd, const struct ::stat& info, std::string name)
    : fd_(std::move(fd)),
      size_(static_cast<std::uint64_t>(info.st_size)),
      version_{{static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino),
                size_, nanoseconds(info.st_mtim), nanoseconds(info.st_ctim)}},
      name_(std::move(name)) {}

ZARRPOINT_INLINE std::optional<blob_version> file_blob::version() const noexcept {
  // A file that was changed a moment ago may be changed once more without getting another time. The
  // kernel's clock goes in ticks of up to 10 ms, and some file systems note seconds, which look
  // round. What is read after that has a time of its own when it is changed. (git calls such files
  // "racily clean".) Times in the future say nothing.
  constexpr std::uint64_t tick = 50'000'000;
  constexpr std::uint64_t second = 1'000'000'000;
  struct ::timespec now {};
  if (::clock_gettime(CLOCK_REALTIME, &now) != 0) return {};
  const std::uint64_t changed = std::max(version_.numbers[3], version_.numbers[4]);
  const bool whole_seconds = version_.numbers[4] % second == 0;
  if (nanoseconds(now) <= changed + (whole_seconds ? 3 * second : tick)) return {};
  return version_;
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> file_blob::open(const file_root& root,
                                                               const store_key& key) {
  // O_NONBLOCK: opening a FIFO must not block.
  unique_fd fd(root.open(key, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR) return std::unique_ptr<blob>();
    return root.open_failure("open", key, errno);
  }
  struct ::stat info {};
  if (::fstat(fd.get(), &info) != 0) return system_error("open", root.describe(key), errno);
  if (S_ISDIR(info.st_mode)) return std::unique_ptr<blob>();
  if (!S_ISREG(info.st_mode))
    return error{errc::io, "open " + root.describe(key) + ": it is not a regular file"};
  return detail::make_owned<blob, file_blob>(std::move(fd), info, root.describe(key));
}

ZARRPOINT_INLINE result<void> file_blob::read(std::uint64_t offset, mutable_bytes into) const {
  ZARRPOINT_CHECK(check_range(offset, into.size()));
  return status_of(read_fully(fd_.get(), offset, into));
}

ZARRPOINT_INLINE result<mapping> file_blob::map() const {
  if (size_ == 0) return mapping();
  const auto size = static_cast<std::size_t>(size_);
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd_.get(), 0);
  if (at == MAP_FAILED) return system_error("map", name_, errno);
  const bytes_view bytes(static_cast<const std::byte*>(at), size);
  return mapping(bytes, std::shared_ptr<const void>(at, [size](void* p) { ::munmap(p, size); }));
}

ZARRPOINT_INLINE result<void> file_blob::read_vectored(
    std::span<const read_request> requests) const {
#if defined(POSIX_FADV_WILLNEED)
  // Short runs with gaps would each wait for the disk: the system then reads all in between ahead,
  // unless that is too much. Of what is in memory this costs next to nothing.
  constexpr std::uint64_t short_run = 4096, too_much = std::uint64_t{16} << 20;
  if (requests.size() > 1 && requests[0].into.size() < short_run) {
    const std::uint64_t first = requests[0].offset;
    const std::uint64_t span = requests.back().offset + requests.back().into.size() - first;
    if (span > requests.size() * short_run && span <= too_much)
      ::posix_fadvise(fd_.get(), static_cast<off_t>(first), static_cast<off_t>(span),
                      POSIX_FADV_WILLNEED);
  }
#endif
  while (!requests.empty()) {
    std::array<iovec, 64> parts{};
    std::size_t used = 0;
    std::uint64_t end = requests[0].offset;
    while (used < parts.size() && used < requests.size() && requests[used].offset == end) {
      ZARRPOINT_CHECK(check_range(end, requests[used].into.size()));
      parts[used] = {requests[used].into.data(), requests[used].into.size()};
      end += requests[used].into.size();
      ++used;
    }
    ZARRPOINT_CHECK(read_parts(requests[0].offset, requests.first(used), parts));
    requests = requests.subspan(used);
  }
  return {};
}

ZARRPOINT_INLINE result<void> file_blob::status_of(int code) const {
  if (code == 0) return {};
  if (code > 0) return system_error("read", name_, code);
  return error{errc::io, "read " + name_ + ": it became shorter than its " + std::to_string(size_) +
                             " bytes"};
}

ZARRPOINT_INLINE result<void> file_blob::read_parts(std::uint64_t offset,
                                                    std::span<const read_request> requests,
                                                    std::span<const iovec> parts) const {
  const ssize_t count = retry_interrupted([&] {
#if ZARRPOINT_LINUX
    return ::preadv(fd_.get(), parts.data(), static_cast<int>(requests.size()),
                    static_cast<off_t>(offset));
#else
    return ::pread(fd_.get(), parts[0].iov_base, parts[0].iov_len, static_cast<off_t>(offset));
#endif
  });
  if (count < 0) return status_of(errno);
  // A short read is finished part by part.
  auto done = static_cast<std::size_t>(count);
  for (const read_request& request : requests) {
    const std::size_t here = std::min(done, request.into.size());
    done -= here;
    if (here < request.into.size())
      ZARRPOINT_CHECK(read(request.offset + here, request.into.subspan(here)));
  }
  return {};
}

}  // namespace detail

// ---------------------------------------------------------------------------------- file_store.hpp

namespace detail {

/// Whether other keys may lie beneath an entry: what a symbolic link leads to says so, whether it
/// is followed or not. Beneath one that leads nowhere they may, too: who looks there gets its
/// error.
ZARRPOINT_INLINE bool may_be_prefix(int directory, const dirent& entry) {
#if ZARRPOINT_LINUX
  // Some file systems do not tell the type in the entry itself.
  if (entry.d_type != DT_UNKNOWN && entry.d_type != DT_LNK) return entry.d_type == DT_DIR;
#endif
  struct ::stat info {};
  return ::fstatat(directory, entry.d_name, &info, 0) != 0 || S_ISDIR(info.st_mode);
}

/// Opens a directory that a save may replace, and takes the lock that keeps it from being removed
/// then.
ZARRPOINT_INLINE result<unique_fd> open_held(const std::string& name) {
  for (int attempt = 0;; ++attempt) {
    unique_fd fd(open_at(AT_FDCWD, name.c_str(), O_RDONLY | O_DIRECTORY));
    if (!fd) return system_error("open", name, errno);
    const int code = has_true_locks(fd.get()) ? lock_file(fd.get(), LOCK_SH) : ENOTSUP;
    const bool is_there = same_file(id_of(fd.get()), id_of(name.c_str()));
    if (code == 0 && is_there) return fd;
    if (code != 0 && code != EWOULDBLOCK)
      return error{errc::unsupported,
                   "hold " + name + ": its file system has no locks that all machines see"};
    if (attempt == 10'000) return system_error("hold", name, EBUSY);
    if (is_there) wait_a_moment();  // until the save that has just published it lets go of it
  }
}

}  // namespace detail

class file_store::staged final : public publication {
 public:
  explicit staged(std::unique_ptr<detail::directory_publication> begun)
      : begun_(std::move(begun)) {}
  any_store store() const override { return file_store(begun_->tree()); }
  std::string staged_name() const override { return begun_->staged_name(); }
  result<std::vector<std::string>> keep(const owned_paths& owned) override {
    return begun_->keep(owned);
  }
  result<void> commit() override { return begun_->commit(); }
  late_entries late() const override { return begun_->late(); }

 private:
  std::unique_ptr<detail::directory_publication> begun_;
};

ZARRPOINT_INLINE result<file_store> file_store::open(std::string_view path,
                                                     const file_store_options& how) {
  const std::string name(path);
  if (name.find('\0') != std::string::npos || name.empty())
    return error{errc::invalid_argument, "open \"" + name + "\": not a path"};
  const bool created = how.create && ::mkdir(name.c_str(), 0777) == 0;
  if (how.create && !created && errno != EEXIST) return detail::system_error("create", name, errno);
  detail::unique_fd fd;
  if (how.hold) {
    ZARRPOINT_TRY(held, detail::open_held(name));
    fd = std::move(held);
  } else {
    fd = detail::unique_fd(detail::open_at(AT_FDCWD, name.c_str(), O_RDONLY | O_DIRECTORY));
  }
  if (!fd) return detail::system_error("open", name, errno);
  if (created && how.sync) {
    const detail::unique_fd parent(detail::open_at(fd.get(), "..", O_RDONLY | O_DIRECTORY));
    const int code = parent ? detail::sync_directory(parent.get()) : errno;
    if (code != 0) return detail::system_error("sync the directory of", name, code);
  }
  if (how.follow_links == link_scope::beneath_root && !detail::confines_by_kernel(fd.get()))
    return error{
        errc::unsupported,
        "open " + name + ": follow_links needs openat2 (Linux 5.6), which is not to be had here"};
  return file_store(detail::make_counted<detail::file_root>(std::move(fd), name, how));
}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> file_store::open(const store_key& key) const {
  if (key.is_root()) return std::unique_ptr<blob>();
  return detail::file_blob::open(*root_, key);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_writer>> file_store::create(
    const store_key& key) const {
  ZARRPOINT_CHECK(check_writable(key, "create"));
  ZARRPOINT_TRY(writer, detail::file_writer::open(root_, key));
  return std::unique_ptr<blob_writer>(std::move(writer));
}

ZARRPOINT_INLINE result<void> file_store::put(const store_key& key, bytes_view bytes) const {
  ZARRPOINT_CHECK(check_writable(key, "write"));
  ZARRPOINT_TRY(writer, detail::file_writer::open(root_, key));
  ZARRPOINT_CHECK(writer->write(0, bytes));
  return writer->finish();
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_extension>> file_store::extend(
    const store_key& key, const blob& before) const {
  ZARRPOINT_CHECK(check_writable(key, "extend"));
  return detail::extended_file::open(root_, key, before);
}

ZARRPOINT_INLINE bool file_store::share(const store_key& key, const blob& from) const {
  return can_write() && root_->share(key, from.descriptor());
}

ZARRPOINT_INLINE result<bool> file_store::erase(const store_key& key) const {
  ZARRPOINT_CHECK(check_writable(key, "erase"));
  const detail::unique_fd parent(
      detail::open_beneath(root_->fd(), key.parent(), O_RDONLY | O_DIRECTORY));
  const std::string name(key.name());
  struct ::stat info {};
  const bool there =
      parent && ::fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && !S_ISREG(info.st_mode)) return false;  // no object
  if (there && ::unlinkat(parent.get(), name.c_str(), 0) == 0) {
    const int code = root_->options().sync ? detail::sync_directory(parent.get()) : 0;
    if (code != 0) return detail::system_error("sync the directory of", describe(key), code);
    return true;
  }
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return detail::system_error("erase", describe(key), errno);
}

ZARRPOINT_INLINE result<void> file_store::rename(const store_key& from, const store_key& to) const {
  ZARRPOINT_CHECK(check_writable(from, "rename"));
  ZARRPOINT_CHECK(check_writable(to, "rename to"));
  ZARRPOINT_CHECK(detail::check_rename(*this, from, to));
  const bool sync = root_->options().sync;
  const detail::file_root::moving_directories moving(*root_);
  const detail::unique_fd old_parent(
      detail::open_beneath(root_->fd(), from.parent(), O_RDONLY | O_DIRECTORY));
  if (!old_parent) return detail::system_error("rename", describe(from), errno);
  const detail::unique_fd new_parent(root_->parent_of(to, sync));
  if (!new_parent) return detail::system_error("rename to", describe(to), errno);
  const std::string old_name(from.name()), new_name(to.name());
  int code = detail::check_free(new_parent.get(), new_name.c_str());
  if (code != 0) return detail::system_error("rename to", describe(to), code);
  struct ::stat info {};
  const bool is_file =
      ::fstatat(old_parent.get(), old_name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
      !S_ISDIR(info.st_mode);
  // A file never replaces a directory, even an empty one.
  if (is_file) ::unlinkat(new_parent.get(), new_name.c_str(), AT_REMOVEDIR);
  if (::renameat(old_parent.get(), old_name.c_str(), new_parent.get(), new_name.c_str()) != 0)
    return detail::system_error("rename", describe(from), errno);
  code = sync ? detail::sync_directory(new_parent.get()) : 0;
  if (code == 0 && sync) code = detail::sync_directory(old_parent.get());
  if (code == 0) return {};
  error failure = detail::system_error("sync the directory of", describe(to), code);
  failure.code = errc::outcome_unknown;
  return failure;
}

ZARRPOINT_INLINE result<bool> file_store::erase_all(const store_key& prefix) const {
  ZARRPOINT_CHECK(check_writable(prefix, "erase"));
  const detail::file_root::moving_directories moving(*root_);
  const detail::unique_fd parent(
      detail::open_beneath(root_->fd(), prefix.parent(), O_RDONLY | O_DIRECTORY));
  const std::string name(prefix.name());
  struct ::stat info {};
  if (!parent || ::fstatat(parent.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return detail::system_error("erase", describe(prefix), errno);
  }
  if (!S_ISDIR(info.st_mode)) return false;
  // Nobody locks it: where locks tell, the next save beside it removes what a kill leaves here.
  using kind = detail::temporary_kind;
  const std::string aside = detail::temporary_name(
      name, detail::has_true_locks(parent.get()) ? kind::locked : kind::unlocked);
  if (::renameat(parent.get(), name.c_str(), parent.get(), aside.c_str()) != 0)
    return detail::system_error("erase", describe(prefix), errno);
  const int unsynced = root_->options().sync ? detail::sync_directory(parent.get()) : 0;
  const int left = detail::remove_tree(parent.get(), aside.c_str());
  if (unsynced == 0 && left == 0) return true;
  error failure =
      detail::system_error("erase", describe(prefix) + ", whose name is " + aside + " now,",
                           unsynced != 0 ? unsynced : left);
  if (unsynced != 0) failure.code = errc::outcome_unknown;
  return failure;
}

ZARRPOINT_INLINE result<std::vector<list_entry>> file_store::list(const store_key& prefix) const {
  const int fd = root_->open(prefix, O_RDONLY | O_DIRECTORY);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::vector<list_entry>();
  detail::directory_stream stream(fd);
  if (!stream) return root_->open_failure("list", prefix, errno);
  std::vector<list_entry> out;
  while (const dirent* entry = stream.next()) {
    const std::string_view name(entry->d_name);
    if (detail::key_segment_fault(name) != nullptr || detail::is_temporary_name(name)) continue;
    out.push_back({std::string(name), detail::may_be_prefix(fd, *entry)});
  }
  if (errno != 0) return detail::system_error("list", describe(prefix), errno);
  detail::sort_by_text(out, [](const list_entry& one) -> std::string_view { return one.name; });
  return out;
}

ZARRPOINT_INLINE result<std::unique_ptr<publication>> file_store::stage(
    const store_key& key, const publish_options& how) const {
  ZARRPOINT_CHECK(check_writable(key, "publish"));
  ZARRPOINT_TRY(begun, detail::directory_publication::begin(root_, key, how));
  return detail::make_owned<publication, staged>(std::move(begun));
}

ZARRPOINT_INLINE result<void> file_store::check_writable(const store_key& key,
                                                         const char* action) const {
  if (root_->options().read_only)
    return error{errc::unsupported,
                 std::string(action) + " " + describe(key) + ": the store was opened read-only"};
  if (key.is_root())
    return error{errc::invalid_argument, std::string(action) + " " + describe(key) +
                                             ": the root of a store cannot be an object"};
  // In no segment: what lies in a directory of such a name is never listed, and may be removed.
  for (std::string_view rest = key.str(); !rest.empty();) {
    const std::string_view segment = rest.substr(0, rest.find('/'));
    if (detail::is_temporary_name(segment))
      return error{errc::invalid_argument,
                   std::string(action) + " " + describe(key) +
                       ": names of this form are reserved for unfinished files"};
    rest.remove_prefix(std::min(segment.size() + 1, rest.size()));
  }
  return {};
}

ZARRPOINT_INLINE std::string file_store::describe(const store_key& key) const {
  return root_->describe(key);
}

ZARRPOINT_INLINE bool file_store::can_write() const { return !root_->options().read_only; }

namespace detail {

// ---------------------------------------------------------------------------------- path_watch.hpp

ZARRPOINT_INLINE path_watch::path_watch(const std::string& path)
    : named_(open_at(AT_FDCWD, path.c_str(), open_as_name)) {}

ZARRPOINT_INLINE bool path_watch::is_other(const std::string& path) {
  if (looks_++ == most_looks) return false;
  if (named_ && same_file(id_of(named_.get()), id_of(path.c_str()))) return false;
  named_ = unique_fd(open_at(AT_FDCWD, path.c_str(), open_as_name));
  return static_cast<bool>(named_);
}

ZARRPOINT_INLINE bool path_watch::look_again(const std::string& path) {
  errno = 0;
  if (is_other(path)) return true;
  if (named_) return false;
  if (errno != ENOENT || waits_++ == most_waits) return false;
  wait_a_moment();
  return true;
}

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/store/file/write_bodies.hpp>
#endif

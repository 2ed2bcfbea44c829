// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// The system calls of the file store, with their habits (EINTR, short counts, errors that `close`
// reports) dealt with once.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Owns a file descriptor.
class unique_fd {
 public:
  unique_fd() = default;
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  unique_fd& operator=(unique_fd&& other) noexcept;
  ~unique_fd();

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

  /// Closes now; 0 or the errno. The descriptor is gone either way (Linux frees it even on EINTR).
  int close() noexcept;

 private:
  int fd_ = -1;
};

/// The error of a system call: `<action> <name>: <what the system says>`.
error system_error(const char* action, std::string_view name, int code);

/// Calls `f()` again for as long as a signal interrupts it.
template <class F>
auto retry_interrupted(F f) noexcept {
  auto outcome = f();
  while (outcome == -1 && errno == EINTR) outcome = f();
  return outcome;
}

/// `openat` with O_CLOEXEC; -1 and errno on failure.
int open_at(int directory, const char* name, int flags, mode_t mode = 0) noexcept;

/// Opens what is only to be named: a directory on the way, or a file to be known again.
#if ZARRPOINT_LINUX
inline constexpr int open_as_name = O_PATH;
#else
inline constexpr int open_as_name = O_RDONLY | O_NONBLOCK | O_NOCTTY;
#endif

/// The largest offset of a file.
inline constexpr std::uint64_t max_file_size =
    static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());

/// Reads `into` completely; 0, the errno, or -1 if the file ended before.
int read_fully(int fd, std::uint64_t offset, mutable_bytes into) noexcept;

/// Writes all of `bytes`; 0 or the errno.
int write_fully(int fd, std::uint64_t offset, bytes_view bytes) noexcept;

/// Makes the entries of a directory durable; 0 or the errno. Some file systems (FUSE, SMB) cannot
/// sync a directory and say EINVAL: there is nothing more to do there.
int sync_directory(int fd) noexcept;

/// The open file itself, whatever has its name by now, opened for reading once more and past the
/// page cache. It is empty where the system, its file system or a missing /proc does not let that
/// be.
unique_fd open_direct(int fd);

/// What tells a file from all others, whatever its names.
struct file_id {
  dev_t device;
  ino_t inode;
  friend bool operator==(const file_id&, const file_id&) = default;
};
/// Nothing on failure.
std::optional<file_id> id_of(int fd) noexcept;
/// Of what has the name itself: no symbolic link is followed.
std::optional<file_id> id_of(int parent, const char* name) noexcept;
/// Of what a path leads to.
std::optional<file_id> id_of(const char* path) noexcept;
bool same_file(const std::optional<file_id>& a, const std::optional<file_id>& b) noexcept;
/// Whether a path is a symbolic link itself.
bool is_link(const std::string& path) noexcept;

/// Takes a lock (LOCK_SH, LOCK_EX) of an open file or directory, or gives it back (LOCK_UN),
/// without waiting; it ends with the last process that has the descriptor. 0 or the errno:
/// EWOULDBLOCK when another has a lock that excludes it, all else when there are no locks here.
int lock_file(int fd, int kind) noexcept;

/// Whether a lock is seen by all who can reach the file. It is not so on the file systems of
/// networks, some of which lock for one machine only, and unknown of those that are not on the
/// list. Only Linux tells which file system it is.
bool has_true_locks(int fd) noexcept;

/// A millisecond.
void wait_a_moment() noexcept;

/// The outcome of renaming `ours` to `name`, which answered with `code`. Over NFS a rename may be
/// done and answer with an error, so what has the name decides.
int rename_outcome(int code, const std::optional<file_id>& ours, int parent,
                   const char* name) noexcept;

std::array<std::uint64_t, 2> random_bits() noexcept;

/// 128 random bits as 32 hexadecimal digits.
std::string random_id();

/// What all temporary names for `final_name` begin with: no more of it than leaves room within 255
/// bytes, and whole characters, since some file systems take nothing but UTF-8.
std::string temporary_prefix(std::string_view final_name);

/// What a temporary name says of its owner.
enum class temporary_kind : std::uint8_t {
  locked,    ///< it has a true lock for as long as it lives
  unlocked,  ///< nothing tells whether it lives
  aside,     ///< nothing; and what has the name had that of the target until a moment ago
};

/// A fresh name for something that will become `final_name` in the same directory, or was it:
/// `.<final>.tmp.<128-bit id>`, the final name cut so that the whole stays within 255 bytes. The
/// last 32 bits of the id are a checksum of all before and of `kind`, so that names that look like
/// ours are not taken for ours.
std::string temporary_name(std::string_view final_name, temporary_kind kind);

/// Whether a name has the form of those. Such names are never listed: they belong to writers at
/// work, or to ones that were killed.
bool is_temporary_name(std::string_view name) noexcept;

/// Whether `temporary_name` made `name` for an owner of this kind.
bool is_temporary_name(std::string_view name, temporary_kind kind) noexcept;

}}}  // namespace zarrpoint::v0::detail

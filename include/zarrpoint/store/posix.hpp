// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

// The system calls of the file store, with their habits (EINTR, short counts, errors that `close`
// reports) dealt with once.

namespace zarrpoint::inline v0::detail {

/// Owns a file descriptor.
class unique_fd {
 public:
  unique_fd() = default;
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~unique_fd() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

  /// Closes now; 0 or the errno. The descriptor is gone either way (Linux frees it even on EINTR).
  int close() noexcept {
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0 || errno == EINTR ? 0 : errno;
  }

 private:
  int fd_ = -1;
};

/// The error of a system call: `<action> <name>: <what the system says>`.
inline error system_error(const char* action, std::string_view name, int code) {
  errc kind = errc::io;
  if (code == ENOENT) kind = errc::not_found;
  if (code == EEXIST || code == ENOTEMPTY) kind = errc::already_exists;
  if (code == ENOMEM) kind = errc::resource_limit;
  std::string text(action);
  text.append(" ").append(name).append(": ");
  text += code == ELOOP ? "a symbolic link stands in the way, and none is followed"
                        : std::generic_category().message(code);
  return {kind, std::move(text)};
}

/// Calls `f()` again for as long as a signal interrupts it.
template <class F>
auto retry_interrupted(F f) noexcept {
  auto outcome = f();
  while (outcome == -1 && errno == EINTR) outcome = f();
  return outcome;
}

/// The largest offset of a file.
inline constexpr std::uint64_t max_file_size =
    static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());

/// Reads `into` completely; 0, the errno, or -1 if the file ended before.
inline int read_fully(int fd, std::uint64_t offset, mutable_bytes into) noexcept {
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

/// Writes all of `bytes`; 0 or the errno.
inline int write_fully(int fd, std::uint64_t offset, bytes_view bytes) noexcept {
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

/// Makes the entries of a directory durable; 0 or the errno. Some file systems (FUSE, SMB) cannot
/// sync a directory and say EINVAL: there is nothing more to do there.
inline int sync_directory(int fd) noexcept {
  const int code = retry_interrupted([fd] { return ::fsync(fd); }) == 0 ? 0 : errno;
  return code == EINVAL || code == ENOTSUP ? 0 : code;
}

/// 128 random bits as 32 hexadecimal digits.
inline std::string random_id() {
  unsigned char bits[16] = {};
  if (::getrandom(bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    // Names are still created exclusively: a collision is an error, never a mix-up.
    const auto address = reinterpret_cast<std::uintptr_t>(&bits);
    const auto process = static_cast<std::uint64_t>(::getpid());
    for (unsigned i = 0; i < 8; ++i) {
      bits[i] = static_cast<unsigned char>(address >> (8 * i));
      bits[8 + i] = static_cast<unsigned char>(process >> (8 * i));
    }
  }
  std::string text;
  for (const unsigned char byte : bits) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

/// What all temporary names for `final_name` begin with.
inline std::string temporary_prefix(std::string_view final_name) {
  std::string prefix(".");
  return prefix.append(final_name.substr(0, 255 - 1 - 5 - 32)).append(".tmp.");
}

/// A fresh name for something that will become `final_name` in the same directory:
/// `.<final>.tmp.<128-bit id>`, the final name cut so that the whole stays within 255 bytes.
inline std::string temporary_name(std::string_view final_name) {
  return temporary_prefix(final_name) + random_id();
}

/// Whether `temporary_name` may have made `name`. Such names are never listed: they belong to
/// writers at work, or to ones that were killed.
inline bool is_temporary_name(std::string_view name) noexcept {
  if (name.size() < 1 + 5 + 32 || name.front() != '.') return false;
  const std::string_view tail = name.substr(name.size() - 5 - 32);
  return tail.starts_with(".tmp.") &&
         tail.find_first_not_of("0123456789abcdef", 5) == std::string_view::npos;
}

}  // namespace zarrpoint::inline v0::detail

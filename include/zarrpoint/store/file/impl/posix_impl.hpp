// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/file/posix.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

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
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  return unique_fd(
      retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC); }));
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

ZARRPOINT_INLINE int rename_outcome(int code, const std::optional<file_id>& ours, int parent,
                                    const char* name) noexcept {
  return code != 0 && same_file(ours, id_of(parent, name)) ? 0 : code;
}

ZARRPOINT_INLINE int lock_file(int fd, int kind) noexcept {
  return retry_interrupted([&] { return ::flock(fd, kind | LOCK_NB); }) == 0 ? 0 : errno;
}

ZARRPOINT_INLINE bool has_true_locks(int fd) noexcept {
  struct ::statfs info {};
  if (::fstatfs(fd, &info) != 0) return false;
  // statfs(2): ext4, XFS, btrfs, F2FS, bcachefs, ZFS, tmpfs, ramfs, overlayfs.
  constexpr std::array<std::uint32_t, 9> types = {0xef53,     0x58465342, 0x9123683e,
                                                  0xf2f52010, 0xca451a4e, 0x2fc12fc1,
                                                  0x01021994, 0x858458f6, 0x794c7630};
  return std::find(types.begin(), types.end(), static_cast<std::uint32_t>(info.f_type)) !=
         types.end();
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
  if (::getrandom(bits.data(), sizeof bits, 0) != static_cast<ssize_t>(sizeof bits))
    bits = unique_bits();
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

}}}  // namespace zarrpoint::v0::detail

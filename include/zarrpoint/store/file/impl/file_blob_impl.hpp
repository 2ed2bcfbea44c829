// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/file/file_blob.hpp>
#include <zarrpoint/store/file/file_root.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

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
  // A file that was changed a moment ago may be changed once more without getting another time: the
  // kernel's clock goes in ticks of up to 10 ms, and some file systems note seconds, which look
  // round. What is read after that has a time of its own when it is changed. (git calls such files
  // "racily clean".) Times in the future say nothing.
  constexpr std::uint64_t tick = 50'000'000;
  constexpr std::uint64_t second = 1'000'000'000;
  struct ::timespec now {};
  if (::clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0) return {};
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
    return ::preadv(fd_.get(), parts.data(), static_cast<int>(requests.size()),
                    static_cast<off_t>(offset));
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

}}}  // namespace zarrpoint::v0::detail

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/file/file_root.hpp>

#include <sys/mman.h>
#include <sys/stat.h>

#include <span>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A regular file, open for reading.
class file_blob final : public blob {
 public:
  /// `info`: what `fstat` says of it.
  file_blob(unique_fd fd, const struct ::stat& info, std::string name);

  /// The file at `key`; null when there is none. A directory is not an object either.
  static result<std::unique_ptr<blob>> open(const file_root& root, const store_key& key);

  std::uint64_t size() const noexcept override { return size_; }
  int descriptor() const noexcept override { return fd_.get(); }
  std::string name() const override { return name_; }

  /// The file and the time of its last change, once that is long enough ago.
  ZARRPOINT_NO_KEY std::optional<blob_version> version() const noexcept override;

  using blob::read;
  ZARRPOINT_NO_KEY result<void> read(std::uint64_t offset, mutable_bytes into) const override;

  ZARRPOINT_NO_KEY result<mapping> map() const override;

 protected:
  /// Requests that follow one another in the file go in one system call.
  ZARRPOINT_NO_KEY result<void> read_vectored(
      std::span<const read_request> requests) const override;

 private:
  result<void> status_of(int code) const;

  result<void> read_parts(std::uint64_t offset, std::span<const read_request> requests,
                          std::span<const iovec> parts) const;

  unique_fd fd_;
  std::uint64_t size_;
  blob_version version_;
  std::string name_;
};

}}}  // namespace zarrpoint::v0::detail

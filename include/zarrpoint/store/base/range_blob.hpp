// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/blob.hpp>

#include <mutex>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A file of which many ranges are objects of their own (an archive, a data file), and its mapping,
/// which they share.
class container_file {
 public:
  explicit container_file(std::unique_ptr<blob> opened) : file_(std::move(opened)) {}

  const blob& file() const { return *file_; }
  result<mapping> map() const;

 private:
  std::unique_ptr<blob> file_;
  mutable std::mutex mutex_;
  mutable std::optional<mapping> mapped_;
};

/// A range of such a file as an object. The caller has checked that it lies within the file.
class range_blob : public blob {
 public:
  using blob::read;
  range_blob(std::shared_ptr<const container_file> of, std::uint64_t begin, std::uint64_t size,
             std::string name)
      : of_(std::move(of)), begin_(begin), size_(size), name_(std::move(name)) {}

  std::uint64_t size() const noexcept override { return size_; }
  ZARRPOINT_NO_KEY result<void> read(std::uint64_t offset, mutable_bytes into) const override;
  ZARRPOINT_NO_KEY result<mapping> map() const override;
  std::string name() const override { return name_; }

 protected:
  ZARRPOINT_NO_KEY result<void> read_vectored(
      std::span<const read_request> requests) const override;

 private:
  std::shared_ptr<const container_file> of_;
  std::uint64_t begin_;
  std::uint64_t size_;
  std::string name_;
};

}}}  // namespace zarrpoint::v0::detail

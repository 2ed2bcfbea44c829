// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// One range of a vectored read: `into.size()` bytes from `offset`.
struct read_request {
  std::uint64_t offset;
  mutable_bytes into;
};

/// Read-only bytes that stay where they are for as long as a copy of the mapping lives.
class mapping {
 public:
  mapping() = default;
  /// `owner` keeps `bytes` alive.
  mapping(bytes_view bytes, std::shared_ptr<const void> owner);

  bytes_view bytes() const noexcept { return bytes_; }

 private:
  bytes_view bytes_;
  std::shared_ptr<const void> owner_;
};

/// Tells the contents of an object from those that its key had before, or has later. They are
/// numbers of the store's own, such as the time of the last change, or a digest.
struct blob_version {
  std::array<std::uint64_t, 5> numbers{};
  friend bool operator==(const blob_version&, const blob_version&) = default;
};

/// One stored object, open for reading. Its size is fixed when it is opened; all members may be
/// called from several threads at once.
class blob {
 public:
  blob() = default;
  blob(const blob&) = delete;
  blob& operator=(const blob&) = delete;
  virtual ~blob() = default;

  /// The size of the object in bytes.
  virtual std::uint64_t size() const noexcept = 0;

  /// Fills `into` from `offset`, completely: `out_of_range` when the range is not inside the
  /// object, `io` when the store fails. What `into` holds after an error is unspecified.
  virtual result<void> read(std::uint64_t offset, mutable_bytes into) const = 0;

  /// All of `requests`, in any order; the store may join neighbours into one operation.
  result<void> read(std::span<const read_request> requests) const;

  /// The whole object in memory without copying it; `unsupported` where the store cannot. Reading
  /// a mapped file that another process truncates raises SIGBUS: map only what nobody rewrites.
  ZARRPOINT_NO_KEY virtual result<mapping> map() const;

  /// The file that is this object, from its first byte on, for callers that read it directly; -1
  /// where there is none. Open for reading as long as the blob lives, which keeps it.
  virtual int descriptor() const noexcept { return -1; }

  /// How many bytes a request should have where as many are wanted side by side: of a server, for
  /// which each request is a wait. 0: reads may be as small as they are.
  virtual std::size_t request_bytes() const noexcept { return 0; }

  /// The version of the object that was opened: of one key, all that have the same have the same
  /// bytes. Nothing where the store cannot tell, or cannot yet; then nothing is kept of the object
  /// from one read to the next.
  ZARRPOINT_NO_KEY virtual std::optional<blob_version> version() const noexcept;

  /// The name of this object in error messages.
  virtual std::string name() const = 0;

 protected:
  /// Behind `read(requests)`; override it where several ranges are cheaper together.
  ZARRPOINT_NO_KEY virtual result<void> read_vectored(std::span<const read_request> requests) const;

  /// `out_of_range`, unless `bytes` bytes from `offset` lie inside the object.
  result<void> check_range(std::uint64_t offset, std::uint64_t bytes) const;
};

/// One object being written. It comes into being, whole, when `finish` succeeds; a writer that is
/// destroyed before leaves nothing behind.
class blob_writer {
 public:
  blob_writer() = default;
  blob_writer(const blob_writer&) = delete;
  blob_writer& operator=(const blob_writer&) = delete;
  virtual ~blob_writer() = default;

  /// Puts `bytes` at `offset`. Threads may write disjoint ranges at once. The object ends where the
  /// last of its ranges ends (empty ones are ignored), and what no range covers is zero.
  virtual result<void> write(std::uint64_t offset, bytes_view bytes) = 0;

  /// As `write`, of what is neither written again nor read before `finish`. No range ever covers
  /// the `gap` bytes before `offset`, so that a store may write their zeros together with `bytes`.
  /// It may do so after this has returned: `finish` then tells what failed.
  ZARRPOINT_NO_KEY virtual result<void> write_once(std::uint64_t offset, std::size_t gap,
                                                   bytes_view bytes);

  /// As `write_once`, of bytes that stay as they are until `finish` has returned or the writer is
  /// destroyed: a store need not copy what it writes later.
  ZARRPOINT_NO_KEY virtual result<void> write_kept(std::uint64_t offset, std::size_t gap,
                                                   bytes_view bytes);

  /// Announces that the object will take up to `size` bytes, so that a full disk is reported
  /// before the work is done. Only a hint: neither required nor a limit, and it may grow. A writer
  /// of many objects in one, such as a zip file, announces more while threads write.
  ZARRPOINT_NO_KEY virtual result<void> reserve(std::uint64_t size);

  /// Fills `into` with what was written from `offset` on: for stores that build one object of many,
  /// such as a zip file. `unsupported` where the store cannot.
  ZARRPOINT_NO_KEY virtual result<void> read(std::uint64_t offset, mutable_bytes into) const;

  /// Makes the object visible under its key, in place of the one before. Call it once, when all
  /// writes have returned. On failure the object before is still there and the writer is spent;
  /// only `outcome_unknown` means that the last sync failed after the object had its name.
  virtual result<void> finish() = 0;
};

/// An object that is to grow in one step: a reader sees it as it was, or with all that was added,
/// and so does a reader after a crash. What it holds already stays as it is. One that is destroyed
/// before `finish` changes nothing.
class blob_extension {
 public:
  /// Bytes that are added begin and end at multiples of this, in the object and in memory.
  static constexpr std::size_t block = 4096;

  blob_extension() = default;
  blob_extension(const blob_extension&) = delete;
  blob_extension& operator=(const blob_extension&) = delete;
  virtual ~blob_extension() = default;

  /// Adds `more`, blocks from the next multiple of `block` on; what lies before that, behind the
  /// old end, is zero. Call it once. On failure the object is what it was; `outcome_unknown` means
  /// that it may have grown.
  virtual result<void> finish(bytes_view more) = 0;
};

namespace detail {

/// Bytes in memory as an object, which keeps what they lie in, as its mappings do.
class memory_blob final : public blob {
 public:
  using blob::read;
  memory_blob(mapping bytes, std::string name) : bytes_(std::move(bytes)), name_(std::move(name)) {}
  /// Bytes that are shared with others.
  memory_blob(const std::shared_ptr<const std::vector<std::byte>>& bytes, std::string name)
      : memory_blob(mapping(*bytes, bytes), std::move(name)) {}
  memory_blob(std::vector<std::byte> bytes, std::string name)
      : memory_blob(detail::make_counted<const std::vector<std::byte>>(std::move(bytes)),
                    std::move(name)) {}

  std::uint64_t size() const noexcept override { return bytes_.bytes().size(); }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    if (!into.empty()) std::memcpy(into.data(), bytes_.bytes().data() + offset, into.size());
    return {};
  }
  result<mapping> map() const override { return bytes_; }
  std::string name() const override { return name_; }

 private:
  mapping bytes_;
  std::string name_;
};

}  // namespace detail

}}  // namespace zarrpoint::v0

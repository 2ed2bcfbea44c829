// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace zarrpoint { inline namespace v0 {

/// What a `read_cache` may keep, and where.
struct read_cache_options {
  /// A directory for all processes that name it, and for later ones. It is made if it is not there,
  /// and only its owner may write to it. Empty: in memory alone.
  std::string folder{};
  std::uint64_t bytes = std::uint64_t{16} << 30;   ///< of the files in it
  std::size_t memory = std::size_t{64} << 20;      ///< of blocks in memory; 0 for none
  std::size_t block_bytes = std::size_t{1} << 20;  ///< what is read at a time: 4 KiB to 64 MiB
};

/// What a `read_cache` did so far in this process, in blocks.
struct read_cache_counts {
  std::uint64_t memory_hits = 0;
  std::uint64_t disk_hits = 0;
  std::uint64_t misses = 0;     ///< read from the store
  std::uint64_t damaged = 0;    ///< files that were not what had been written; they are removed
  std::uint64_t unwritten = 0;  ///< what the disk did not take
};

/// Keeps blocks of objects that were read, on disk and in memory, by what they are and which
/// version: `http_store_options{.cache = cache}`, `s3_options{.cache = cache}`, or `over(store)`.
/// A handle: copies are the same cache.
///
/// An object is opened at its server as always, which tells its version (`blob::version`, such as
/// an ETag). So a change is seen by the next who opens it. What the server does not tell the
/// version of, and objects of up to 64 KiB, are not kept.
///
/// A block is a file of its own with a checksum, and comes into being by a rename. What is torn,
/// damaged or of another object is read from the store instead. There are no locks, so that a
/// process that is killed holds up no other one. What the disk does not take is not kept. When
/// there is too much, those that were not used for the longest time go.
class read_cache {
 public:
  /// Errors: `invalid_argument` for a folder that others may write to, whose blocks could be
  /// theirs, and for a block size outside the bounds; `io` for a folder that cannot be made.
  static result<read_cache> open(read_cache_options how);

  /// The same object, read through the cache.
  std::unique_ptr<blob> operator()(std::unique_ptr<blob> object) const;

  /// A store whose objects are read through the cache. All else is done by `base`.
  any_store over(any_store base) const;

  read_cache_counts counts() const;

 private:
  struct state;
  class object;
  class store;
  explicit read_cache(std::shared_ptr<state> of) : state_(std::move(of)) {}

  std::shared_ptr<state> state_;
};

}}  // namespace zarrpoint::v0

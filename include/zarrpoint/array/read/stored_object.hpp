// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/shard/shard_index_cache.hpp>

#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Whether an object (null: it is missing) is the one that `digests` speak of, as far as can be
/// told without reading it. Errors: `corrupt`.
result<void> check_expected(const array_state& of, const chunk_digests& digests,
                            const std::string& key, const blob* object);

/// What is known of an object before it is opened.
struct object_options {
  const chunk_digests* expected = nullptr;
  shard_index_cache* indexes = nullptr;  ///< where a shard and its index may be kept; else
  bool keep = false;                     ///< whether the array itself keeps the index
};

/// One object of an array, open for reading: its bytes, and where each inner chunk lies in them.
struct stored_object {
  std::shared_ptr<const blob> bytes;
  std::shared_ptr<const shard_index> index;  ///< of a shard; else null

  shard_entry entry(std::size_t slot) const;

  /// Null when the store has no such object. A shard's index is read and checked. Given digests,
  /// one that does not fit them is refused before it is read.
  static result<std::unique_ptr<stored_object>> open(const array_state& of, const std::string& key,
                                                     codec_workspace& scratch,
                                                     const object_options& options = {});

 private:
  /// The index, which the array keeps from one read to the next.
  static result<std::shared_ptr<const shard_index>> kept_index(const array_state& of,
                                                               std::string_view key,
                                                               const blob& bytes,
                                                               codec_workspace& scratch);
  /// What the index may be kept by, or nothing.
  static result<std::optional<shard_index_cache::index_version>> version_of(
      const blob& bytes, const shard_parts& shard);
  static result<std::shared_ptr<const shard_index>> read_index(const blob& bytes,
                                                               const array_layout& layout,
                                                               codec_workspace& scratch);
};

/// Bytes of an object that will be read.
struct byte_range {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::byte* to = nullptr;  ///< the memory that they will be read to, where it is known
};

/// An object of which many small ranges are read: neighbours are joined, read in one call, and kept
/// until each of them was asked for once. Those that also lie side by side where they are read to
/// are read to there, by the first that asks. Who has to wait for a run reads one behind it.
class coalescing_blob final : public blob {
 public:
  /// Ranges with less than this between them are joined: reading it costs less than another call.
  static constexpr std::uint64_t max_gap = 16 * 1024;
  /// The most bytes that ranges are joined to where a store does not want more.
  static constexpr std::size_t usual_run = 1024 * 1024;

  /// `ranges` lie in the order of their offsets; `most` is the most bytes that they are joined to.
  coalescing_blob(std::shared_ptr<const blob> base, std::span<const byte_range> ranges,
                  memory_resource& from, std::size_t most = usual_run);

  std::uint64_t size() const noexcept override { return base_->size(); }
  std::string name() const override { return base_->name(); }
  /// How many reads all ranges take.
  std::size_t runs() const noexcept { return runs_.size(); }

  ZARRPOINT_NO_KEY result<void> read(std::uint64_t offset, mutable_bytes into) const override;

 private:
  struct run {
    std::mutex mutex;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::size_t wanted = 0;   // ranges that were not asked for yet
    std::byte* to = nullptr;  // where all of it is read to; else to `memory`
    bool is_there = false;    // it was read to `to`
    bool is_begun = false;    // somebody has tried to read it
    buffer memory;
  };

  /// Reads a run, unless it is there. Where there is no memory for it, nothing is read.
  /// Under its lock.
  result<void> fetch(run& of) const;
  /// Reads a run behind `of` that nobody has begun; false where there is none to read.
  bool fetch_ahead(const run& of) const;
  /// The run that holds a range whole.
  run* find(std::uint64_t offset, std::uint64_t bytes) const;

  std::shared_ptr<const blob> base_;
  memory_resource& resource_;
  std::vector<std::unique_ptr<run>> runs_;
};

/// A part of an object that is open, as an object of its own. The object outlives it.
class window_blob final : public blob {
 public:
  window_blob(const blob& base, const shard_entry& part) : base_(base), part_(part) {}

  std::uint64_t size() const noexcept override { return part_.size; }
  std::string name() const override { return base_.name(); }
  result<void> read(std::uint64_t offset, mutable_bytes into) const override {
    ZARRPOINT_CHECK(check_range(offset, into.size()));
    return base_.read(part_.offset + offset, into);
  }

 private:
  const blob& base_;
  const shard_entry part_;
};

/// A store of one object, which is a part of another: a shard within a shard.
class window_store {
 public:
  window_store(const blob& base, const shard_entry& part) : base_(&base), part_(part) {}

  result<std::unique_ptr<blob>> open(const store_key&) const {
    return detail::make_owned<blob, window_blob>(*base_, part_);
  }
  std::string describe(const store_key&) const { return base_->name(); }

 private:
  const blob* base_;
  shard_entry part_;
};

}}}  // namespace zarrpoint::v0::detail

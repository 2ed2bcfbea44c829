// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/shard/shard_index.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// Open shards and their indexes, kept from one read to the next: for callers that read arrays of
/// one store part by part in one operation (`read_options::indexes`). A shard that is kept stays
/// what it was when it was opened, so that nothing is read by the index of another one. What was
/// used longest ago is dropped first. Thread-safe.
///
/// An array keeps the indexes that it reads itself in one of these, too: without their shards, each
/// by the version that its shard had.
class shard_index_cache {
 public:
  using index_pointer = std::shared_ptr<const detail::shard_index>;

  /// An object, null when there is none, and its index, null when it was not read.
  struct shard {
    std::shared_ptr<const blob> bytes{};
    index_pointer index{};
  };

  /// What an index is known by that is kept without its shard.
  struct index_version {
    blob_version object{};
    std::uint32_t checksum = 0;  ///< what is stored as the index's own; 0 where none is compared
    friend bool operator==(const index_version&, const index_version&) = default;
  };

  /// `most`: the bytes that are kept, in memory of `default_resource()`. `most_open`: the objects
  /// that are, each of which may be a file descriptor.
  explicit shard_index_cache(std::size_t most = std::size_t{16} << 20, std::size_t most_open = 64);
  shard_index_cache(const shard_index_cache&) = delete;
  shard_index_cache& operator=(const shard_index_cache&) = delete;

  /// A cache for operations with so large a budget, of which it takes a small part.
  static std::size_t share_of(std::size_t budget) noexcept;

  /// The shard `key`, which `open()` gives as `result<shard>` when it is not kept. While one thread
  /// opens it, others that need it wait for the outcome, a failure included. What has no index
  /// is not kept.
  template <class Open>
  result<shard> get(std::string_view key, Open&& open) {
    std::unique_lock lock(mutex_);
    if (const shard* const found = find_kept(key)) return *found;
    if (const std::shared_ptr<attempt> other = find_attempt(key)) {
      done_.wait(lock, [&] { return other->outcome.has_value(); });
      return *other->outcome;
    }
    const auto mine = detail::make_counted<attempt>(std::string(key));
    opening_.push_back(mine);
    lock.unlock();
    result<shard> made = guarded([&]() -> result<shard> {
      ZARRPOINT_TRY(opened, open());
      return with_own_index(std::move(opened));
    });
    lock.lock();
    mine->outcome = made;
    done_.notify_all();
    // Otherwise `clear` was called meanwhile.
    if (std::erase(opening_, mine) != 0 && made && made->index != nullptr)
      put(mine->key, *made, std::nullopt);
    return made;
  }

  /// The index that was kept of this version of the shard `key`, or null.
  index_pointer find(std::string_view key, const index_version& version);

  /// Keeps a copy of the index of this version, and no other of the shard, where there is memory.
  void keep(std::string_view key, const index_version& version, const detail::shard_index& index);

  /// Forgets all shards: later calls open them again.
  void clear();

  /// What is kept, with some bytes for each index beside its own.
  std::size_t bytes() const;

 private:
  struct entry {
    std::string key;
    std::size_t bytes;
    shard kept;
    std::optional<index_version> version;  ///< of an index that is kept without its shard
  };
  using entries = std::list<entry>;
  using place = std::vector<entries::iterator>::iterator;
  struct attempt {
    explicit attempt(std::string of) : key(std::move(of)) {}
    const std::string key;
    std::optional<result<shard>> outcome{};
  };

  static constexpr std::size_t entry_bytes = 256;  ///< about what it takes without an index

  /// The same with a copy of the index, in memory that the reader does not own.
  static result<shard> with_own_index(shard of);
  static result<index_pointer> own_copy(const detail::shard_index& of);
  /// What it takes to keep it, about.
  static std::size_t entry_size(std::string_view key, const detail::shard_index& index) noexcept;

  // With the lock held, as all below.
  /// The shard that is kept, now the last used, or null.
  const shard* find_kept(std::string_view key);
  /// The first in the list from now on.
  void use(entries::iterator one) { used_.splice(used_.begin(), used_, one); }
  /// The attempt of another thread, or null.
  std::shared_ptr<attempt> find_attempt(std::string_view key) const;
  /// The first in `by_key_` whose key is not less.
  place place_of(std::string_view key);
  /// In place of what is kept of the key; keeps to the bounds.
  void put(std::string_view key, shard made, std::optional<index_version> version);
  /// Gives the place of the next.
  place drop(place one);

  const std::size_t most_;
  const std::size_t most_open_;
  mutable std::mutex mutex_;
  std::condition_variable done_;                   ///< one of the attempts is
  std::vector<std::shared_ptr<attempt>> opening_;  ///< one a thread at the most
  entries used_;                                   ///< the last used first
  std::vector<entries::iterator> by_key_;          ///< sorted
  std::size_t bytes_ = 0;
};

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/cache_store.hpp>

#include <iterator>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Blocks of objects, those used last kept longest, within a number of bytes. An epoch ends when a
/// change begins, and again when it is done. A reader that opened an object in an earlier one, or
/// between the two, finds nothing and adds nothing. So no block of an old object stands for one of
/// the new.
class block_cache {
 public:
  using block = std::shared_ptr<const std::vector<std::byte>>;

  explicit block_cache(const cache_options& how);

  std::size_t limit() const noexcept { return limit_; }
  std::size_t block_bytes() const noexcept { return block_bytes_; }

  /// What an object that is opened now finds and adds blocks by.
  std::uint64_t epoch() const;

  /// The size of an object of which there is a block that `epoch` finds.
  std::optional<std::uint64_t> size_of(std::uint64_t epoch, std::string_view key) const;

  block find(std::uint64_t epoch, const std::string& key, std::uint64_t index);

  /// Keeps block `index` of an object of `size` bytes.
  void insert(std::uint64_t epoch, const std::string& key, std::uint64_t size,
              std::pair<std::uint64_t, block> indexed);

  /// Forgets an object and what lies beneath it. Takes no memory.
  void forget(std::string_view key) noexcept;

  /// As `forget`, for what is about to change. Until `end_change` nobody knows whether what is read
  /// is old or new, and a reader that opens an object meanwhile finds nothing and adds nothing.
  void begin_change(std::string_view key) noexcept;
  void end_change() noexcept;

  cache_counts counts() const;

 private:
  struct id {
    std::string key;
    std::uint64_t index;
  };
  struct entry {
    block bytes;
    std::list<const id*>::iterator place;
    std::uint64_t object_size;
  };
  /// Finds blocks without a key of their own.
  struct by_id {
    using is_transparent = void;
    using view = std::pair<std::string_view, std::uint64_t>;

    bool operator()(const id& a, const id& b) const noexcept { return of(a) < of(b); }
    bool operator()(const id& a, const view& b) const noexcept { return of(a) < b; }
    bool operator()(const view& a, const id& b) const noexcept { return a < of(b); }
    static view of(const id& one) noexcept { return {one.key, one.index}; }
  };
  using entry_map = std::map<id, entry, by_id>;

  static constexpr std::uint64_t no_epoch = UINT64_MAX;

  void drop_beneath(std::string_view key) noexcept;

  entry_map::iterator drop(entry_map::iterator at);

  const std::size_t limit_;
  const std::size_t block_bytes_;
  mutable std::mutex mutex_;
  entry_map blocks_;
  std::list<const id*> order_;  ///< the one used last in front
  std::uint64_t epoch_ = 0;
  std::size_t changes_ = 0;  ///< those that have begun and are not done
  cache_counts counts_;
};

}}}  // namespace zarrpoint::v0::detail

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// What a `cache_store` may hold.
struct cache_options {
  std::size_t bytes = std::size_t{256} << 20;      ///< of all cached blocks; 0 caches nothing
  std::size_t block_bytes = std::size_t{1} << 20;  ///< what is read at a time; at least 4096
};

/// What a `cache_store` did so far, in blocks.
struct cache_counts {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::size_t bytes = 0;  ///< held now
};

namespace detail {
class block_cache;
}  // namespace detail

/// Keeps in memory what was read last from another store: for distant stores, and for arrays whose
/// parts are read again and again. Objects are cached in aligned blocks. What is written through
/// this store is at once what it reads. What others write is noticed when its blocks have gone, or
/// after `clear`. A single read of more than half of the cache goes past it. Copies of the handle
/// share the cache.
class cache_store {
 public:
  template <class S>
    requires(!std::same_as<S, cache_store>)
  explicit cache_store(S base, const cache_options& how = {})
      : base_(std::move(base)), cache_(make_cache(how)) {}

  result<std::unique_ptr<blob>> open(const store_key& key) const;
  std::string describe(const store_key& key) const { return base_.describe(key); }

  result<std::unique_ptr<blob_writer>> create(const store_key& key) const;
  result<void> put(const store_key& key, bytes_view bytes) const;
  result<bool> erase(const store_key& key) const;
  result<std::vector<list_entry>> list(const store_key& prefix) const { return base_.list(prefix); }
  result<std::unique_ptr<publication>> stage(const store_key& key,
                                             const publish_options& how = {}) const;

  result<void> rename(const store_key& from, const store_key& to) const;

  result<bool> erase_all(const store_key& prefix) const;

  bool can_write() const { return base_.can_write(); }
  bool can_list() const { return base_.can_list(); }
  bool can_publish() const { return base_.can_publish(); }
  bool lists_cheaply() const { return base_.lists_cheaply(); }
  const void* identity() const { return base_.identity(); }

  /// How often a block was there, and how much is kept.
  cache_counts counts() const;
  /// Forgets everything.
  void clear() const;

 private:
  using shared_cache = std::shared_ptr<detail::block_cache>;

  static shared_cache make_cache(const cache_options& how);

  /// A change of an object, or of what lies beneath a key: whatever comes of it, what was cached
  /// before is old, and nothing is cached while it goes on.
  struct change;

  class object;

  class writer;

  class staged;

  any_store base_;
  shared_cache cache_;
};

}}  // namespace zarrpoint::v0

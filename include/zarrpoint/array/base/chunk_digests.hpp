// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// What one stored object (a chunk, or a shard) of an array holds: for strict readers.
struct object_digest {
  /// Bytes of the object; 0: the object is absent, all its elements are the fill value.
  std::uint64_t size = 0;
  /// crc32c of the stored bytes of each inner chunk, in the order of the shard index (one for an
  /// array without shards). There is nothing for an inner chunk that is not stored. Where the inner
  /// codecs end in `crc32c` it is the value of that trailer.
  std::vector<std::optional<std::uint32_t>> crc32c{};

  bool absent() const noexcept { return size == 0 && crc32c.empty(); }
  friend bool operator==(const object_digest&, const object_digest&) = default;
};

/// The digests of an array's objects by key relative to the array, e.g. `c/0/1`: collected by a
/// write, compared by a read. Sorted by key, so that what is made of it is the same each time.
class chunk_digests {
 public:
  using map_type = std::map<std::string, object_digest, std::less<>>;

  /// The digest of `key`; null when it is not known.
  const object_digest* find(std::string_view key) const;
  void set(std::string key, object_digest digest);
  /// Takes over those of `other`, in place of its own of the same keys.
  void merge(const chunk_digests& other);
  const map_type& objects() const noexcept { return objects_; }
  bool empty() const noexcept { return objects_.empty(); }

  friend bool operator==(const chunk_digests&, const chunk_digests&) = default;

 private:
  map_type objects_;
};

}}  // namespace zarrpoint::v0

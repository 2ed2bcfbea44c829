// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/distributed/shard/shard_metadata.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What many shards of a global tensor have in common, so that it is kept once.
struct shard_form {
  std::string key;
  dtype type;
  std::vector<index_t> global_shape{};
  std::vector<index_t> fragmentation{};  ///< of a regular grid; else empty
  std::vector<index_t> local_shape{};    ///< of a regular grid; else empty: each shard has its own
  std::size_t prepended_axes = 0;
  std::size_t replica_parts = 1;
  bool is_regular = false;
  bool is_flat = false;
  bool allow_shape_mismatch = false;

  std::size_t rank() const noexcept { return global_shape.size(); }
  std::size_t local_rank() const noexcept { return rank() - prepended_axes; }
  /// How many numbers a shard of this form has of its own.
  std::size_t width() const noexcept {
    return rank() + (is_regular ? 0 : local_rank()) + replica_parts + (is_flat ? 2 : 0);
  }
  friend bool operator==(const shard_form&, const shard_form&) = default;
};

/// The shards that many processes hold, without their elements: a million take tens of megabytes,
/// where as many `shard_metadata` take more than a gigabyte. What the leader plans with.
class shard_table {
 public:
  /// Adds a shard that process `rank` holds; its position is the number of those that the process
  /// had before. Errors: `invalid_argument` where ranks of its shapes do not fit each other or the
  /// process has no number, `resource_limit` for more than 2^32 - 1 shards.
  result<void> add(int rank, const shard_metadata& shard);

  /// The number of a form, which is kept if it is new.
  std::uint32_t intern(shard_form form);
  /// Adds a shard of a form by its own numbers: the offset, the local shape unless the grid is
  /// regular, the replica, start and stop of a flat range. Errors: as above.
  result<void> append(int rank, std::uint32_t form, std::span<const index_t> numbers);
  void reserve(std::size_t shards, std::size_t numbers);

  std::size_t size() const noexcept { return records_.size(); }
  bool empty() const noexcept { return records_.empty(); }
  const std::vector<shard_form>& forms() const noexcept { return forms_; }

  /// Of shard `i`: the process that holds it, which of that process's shards it is, its form.
  int rank(std::size_t i) const noexcept { return records_[i].rank; }
  std::uint32_t position(std::size_t i) const noexcept { return records_[i].position; }
  std::uint32_t form_number(std::size_t i) const noexcept { return records_[i].form; }
  const shard_form& form(std::size_t i) const noexcept { return forms_[records_[i].form]; }

  /// All numbers of its own, see `append`.
  std::span<const index_t> numbers(std::size_t i) const noexcept {
    return {numbers_.data() + records_[i].first, form(i).width()};
  }
  std::span<const index_t> offset(std::size_t i) const noexcept {
    return {numbers_.data() + records_[i].first, form(i).rank()};
  }
  /// Without the prepended axes.
  std::span<const index_t> local_shape(std::size_t i) const noexcept;
  std::span<const index_t> replica(std::size_t i) const noexcept;
  std::optional<flat_range> range(std::size_t i) const noexcept;
  bool is_main(std::size_t i) const noexcept;
  /// Whether there is nothing to store: an extent of 0, or an empty flat range.
  bool is_empty(std::size_t i) const noexcept;
  /// Its extent along an axis of the global tensor.
  index_t extent(std::size_t i, std::size_t axis) const noexcept;
  box global_box(std::size_t i) const;
  /// All that is known of it.
  shard_metadata metadata(std::size_t i) const;

 private:
  struct record {
    std::uint64_t first = 0;  // of its numbers
    std::uint32_t form = 0;
    std::uint32_t position = 0;
    std::int32_t rank = 0;
  };

  std::vector<record> records_;
  std::vector<index_t> numbers_;
  std::vector<shard_form> forms_;
  std::unordered_multimap<std::size_t, std::uint32_t> found_;  // forms by their hash
  std::unordered_map<int, std::uint32_t> counts_;              // shards of each process
};

/// The forms in the order of their keys, and for each form the number of its key in that order.
struct key_order {
  std::vector<std::uint32_t> forms;
  std::vector<std::uint32_t> key_of;
  std::size_t keys = 0;

  explicit key_order(const std::vector<shard_form>& all);
};

/// A shard on its way through a sort by key, offset and flat range.
struct sorted_shard {
  std::uint32_t key = 0;
  std::uint32_t shard = 0;
  std::uint64_t first_element = 0;  ///< its row-major number
  index_t start = 0;                ///< of its flat range

  friend bool operator<(const sorted_shard& a, const sorted_shard& b) noexcept {
    if (a.key != b.key) return a.key < b.key;
    if (a.first_element != b.first_element) return a.first_element < b.first_element;
    return a.start != b.start ? a.start < b.start : a.shard < b.shard;
  }
};

/// The row-major number of an offset within a tensor; unsigned, since it may lie outside of it.
std::uint64_t first_element(std::span<const index_t> offset, const shard_form& form) noexcept;

std::vector<sorted_shard> sort_shards(const shard_table& table, const key_order& keys,
                                      std::span<const std::uint32_t> chosen);

/// The shards that are stored where nothing else is said: the main replicas that have elements.
std::vector<std::uint32_t> main_shards(const shard_table& table);

}}}  // namespace zarrpoint::v0::detail

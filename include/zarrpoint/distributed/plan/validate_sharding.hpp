// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/distributed/plan/intersect.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>
#include <zarrpoint/distributed/shard/sharded_object.hpp>

#include <map>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A sharded object and the process that holds it.
struct gathered_object {
  int rank = 0;
  object_id id;
  bool is_main = true;  ///< whether it is the replica that is stored
};

/// Whether the shards and objects of all processes fit together. Every shard makes sense, and all
/// of a key agree on dtype, shapes and grid. The main replicas hold each element of each tensor
/// just once (flat pieces, too), and each object is there just once. O(n log n) for n shards, but
/// for uneven ones that tile no grid (see `for_each_overlap`).
///
/// Errors: `invalid_argument` with all that was found, in the order of the keys, with processes and
/// boxes; of much of one kind a part and the number.
result<void> validate_sharding(const shard_table& shards,
                               std::span<const gathered_object> objects = {});

/// Processes that have something in common: the first few by number, and how many there are.
class process_list {
 public:
  void add(int rank);
  void add(const process_list& others);
  bool empty() const noexcept { return ranks_.empty(); }

  /// `"process 3"`, `"processes 0, 1 and 4"`, `"processes 0, 1, 2 and others"`.
  std::string text() const;

 private:
  static constexpr std::size_t most = 8;

  std::vector<int> ranks_;
  bool more_ = false;
};

/// `"a, b, ..."` of `all` things, the first of which are named.
std::string list_text(const std::vector<std::string>& named, long long all);

/// What is wrong with a sharding, by key: of each key the first few things, of all keys not more
/// than fit a message that somebody reads.
class sharding_problems {
 public:
  static constexpr std::size_t max_named = 4;     ///< boxes or values in one sentence
  static constexpr std::size_t max_of_key = 8;    ///< sentences about a key
  static constexpr std::size_t max_in_all = 24;   ///< sentences in a message
  static constexpr std::size_t max_length = 480;  ///< characters of a sentence

  /// Notes what `text()` says about `key`, unless enough is said.
  template <class Text>
  void add(const std::string& key, const Text& text) {
    ++count_;
    if (by_key_.size() >= max_in_all && by_key_.rbegin()->first < key) return;
    std::vector<std::string>& of_key = by_key_[key];
    if (of_key.size() < max_of_key) of_key.push_back(shorten(text()));
    if (by_key_.size() > max_in_all) by_key_.erase(std::prev(by_key_.end()));
  }

  /// Errors: `invalid_argument`, naming the problems, if there are any.
  result<void> finish() &&;

 private:
  static std::string shorten(std::string text);

  std::map<std::string, std::vector<std::string>> by_key_;
  std::size_t count_ = 0;
};

/// Whether shards hold each element of a tensor once. The shards have passed
/// `shard_metadata::check`, have elements and are of one tensor, which has elements.
class tiling_checker {
 public:
  tiling_checker(const shard_table& table, sharding_problems& problems)
      : table_(table), problems_(problems) {}

  /// One of each shard that is held in flat pieces, which are to follow each other; of others all.
  std::vector<std::uint32_t> join_ranges(const shard_form& form,
                                         std::span<const sorted_shard> mains);

  /// Of a regular grid; `boxes` are in row-major order.
  void check_regular(const shard_form& form, std::span<const std::uint32_t> boxes);

  /// Of any other grid.
  void check_irregular(const shard_form& form, std::span<const std::uint32_t> boxes);

 private:
  void check_ranges(const shard_form& form, std::span<const sorted_shard> pieces);

  index_t cell_of(std::uint32_t shard) const;
  static box cell_box(const shard_form& form, index_t cell);

  void note_copies(const shard_form& form, std::span<const std::uint32_t> copies);
  void note_holes(const shard_form& form, const std::vector<std::string>& holes, index_t missing,
                  index_t all, std::string_view what);

  /// Counts how many shards hold each cell between all boundaries. Answers whether it did; where
  /// shards overlap again and again it may take too long.
  bool count_cells(const shard_form& form, axis_cuts& cuts, const detail::box_list& list,
                   index_t cells, bool& overlaps);

  /// Names the first shards found that overlap; answers whether there are any.
  bool note_overlaps(const shard_form& form, std::span<const std::uint32_t> boxes,
                     const detail::box_list& list);

  const shard_table& table_;
  sharding_problems& problems_;
};

}}}  // namespace zarrpoint::v0::detail

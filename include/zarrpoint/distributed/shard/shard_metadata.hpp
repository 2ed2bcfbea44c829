// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// Which copy of a shard this is, where several processes hold the same: one number, or one for
/// each way in which the processes are arranged. Only the main replica, all of whose numbers are 0,
/// is stored.
class replica_id {
 public:
  replica_id(index_t number = 0) : parts_{number} {}  // NOLINT(google-explicit-constructor)
  replica_id(std::initializer_list<index_t> parts) : parts_(parts) {}
  explicit replica_id(std::vector<index_t> parts) : parts_(std::move(parts)) {}

  const std::vector<index_t>& parts() const noexcept { return parts_; }
  /// Whether all numbers are 0; also where there is none, since then there is nothing to tell
  /// copies apart by.
  bool is_main() const noexcept {
    return std::all_of(parts_.begin(), parts_.end(), [](index_t part) { return part == 0; });
  }

  friend bool operator==(const replica_id&, const replica_id&) = default;

 private:
  std::vector<index_t> parts_;
};

/// `"0"`, or `"(0, 1)"`.
std::string to_string(const replica_id& replica);

/// Elements `[start, stop)` of a shard in row-major order.
struct flat_range {
  index_t start = 0;
  index_t stop = 0;

  index_t size() const noexcept { return stop - start; }
  friend bool operator==(const flat_range&, const flat_range&) = default;
};

/// `"[4:9]"`.
std::string to_string(const flat_range& range);

/// What a load puts where a global tensor reaches beyond the stored one.
enum class shard_padding : std::uint8_t {
  zeros,      ///< zeros, or empty strings
  replicate,  ///< the last stored element along each axis; zeros where an axis has none
};

/// What is known of one shard of a global tensor without its elements.
///
/// A shard is a box of the global tensor. Along its first `prepended_axes` axes, which the local
/// tensor does not have (a layer, an expert), it has one element. With a `range` the local tensor
/// is a piece of the shard, flattened: what one process keeps of it when an optimizer's state is
/// spread over several.
struct shard_metadata {
  std::string key{};  ///< names the global tensor; all its shards share it
  dtype type{};
  dims local_shape{};    ///< of the shard, not of a flat piece of it; without the prepended axes
  dims global_shape{};   ///< with the prepended axes
  dims global_offset{};  ///< in elements, with the prepended axes
  /// How many shards there are along each axis of the global tensor, all of one shape. Nothing: the
  /// shards differ, and together they tile the global tensor in some other way.
  std::optional<dims> fragmentation{};
  replica_id replica{};
  std::size_t prepended_axes = 0;
  /// The stored global shape may be another: beyond it a load fills as
  /// `group_load_options::padding` says.
  bool allow_shape_mismatch = false;
  std::optional<flat_range> range{};

  bool is_regular() const noexcept { return fragmentation.has_value(); }

  /// The shape of the local tensor: that of the shard, or the length of its flat piece.
  dims data_shape() const { return range ? dims{range->size()} : local_shape; }
  tensor_spec data_spec() const { return {type, data_shape()}; }

  /// The part of the global tensor that the shard is; a flat piece is a part of that.
  box global_box() const;

  /// Whether the parts fit each other. Errors: `invalid_argument` naming the key and what does not
  /// fit, `out_of_range` where the shard leaves the global tensor.
  result<void> check() const;

  /// Whether a local tensor is one of this shard. Errors: `dtype_mismatch`, `shape_mismatch`.
  result<void> check_value(const tensor_spec& value) const;

  friend bool operator==(const shard_metadata&, const shard_metadata&) = default;
};

namespace detail {

error bad_shard(const shard_metadata& shard, std::string what);

result<void> check_ranks(const shard_metadata& shard);

result<void> check_axis(const shard_metadata& shard, std::size_t axis);

/// What the leaves of a state that are stored in parts share, be they tensors, objects or
/// factories of them: copyable handles with
///
/// - `key()`: the name under which the checkpoint knows the whole, whatever its place in the state;
/// - `replica()`: which copy this is;
/// - `validate()`: whether it can be saved or loaded as it is described;
/// - `without_data()`: the same description without a value, as a request to load it.
template <class T>
concept sharded_leaf = std::copyable<T> && requires(const T& leaf) {
  { leaf.key() } -> std::same_as<const std::string&>;
  { leaf.replica() } -> std::same_as<const replica_id&>;
  { leaf.validate() } -> std::same_as<result<void>>;
  { leaf.without_data() } -> std::same_as<T>;
};

}  // namespace detail

/// The local tensor is fragment `position` of `count` equal ones along `axis` of the global tensor.
struct axis_fragment {
  std::size_t axis = 0;  ///< the prepended axes count
  index_t position = 0;
  index_t count = 1;

  friend bool operator==(const axis_fragment&, const axis_fragment&) = default;
};

/// `"(0, 2, 6)"`.
std::string to_string(const axis_fragment& part);

/// How equal local tensors make up the global one. Axes that `offsets` does not name are whole.
struct sharding {
  std::vector<axis_fragment> offsets{};
  replica_id replica{};
  std::size_t prepended_axes = 0;
  bool allow_shape_mismatch = false;
};

/// The shard of which the local data are a flat piece.
struct flat_shard {
  dims local_shape;
  flat_range range;
};

/// The shard that a local tensor of type and shape `local` is. Only shards of one shape can be
/// told this way; others are `shard_metadata` with no fragmentation. Errors: `invalid_argument` for
/// a position outside of its count or an axis named twice, `out_of_range` for an axis that is not
/// there and for a global shape too large.
result<shard_metadata> from_rank_offsets(std::string key, const tensor_spec& local,
                                         const sharding& where);

/// The same where the local tensor `data`, of one dimension, is a piece of its shard flattened.
/// Errors also: `shape_mismatch` where `data` is not as long as the range, `out_of_range` where the
/// range leaves the shard, `invalid_argument` for a shard of rank 0, which cannot be divided.
result<shard_metadata> from_rank_offsets_flat(std::string key, const tensor_spec& data,
                                              const flat_shard& flat, const sharding& where);

}}  // namespace zarrpoint::v0

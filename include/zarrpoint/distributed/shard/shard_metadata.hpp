// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/distributed/shard/replica_id.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace zarrpoint { inline namespace v0 {

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
  /// How many shards there are along each axis of the global tensor, all of one shape; nothing: the
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

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/shard/impl/shard_metadata_impl.hpp>
#endif

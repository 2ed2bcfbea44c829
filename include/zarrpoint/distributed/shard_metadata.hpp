// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/tensor_spec.hpp>
#include <zarrpoint/distributed/replica_id.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace zarrpoint::inline v0 {

/// Elements `[start, stop)` of a shard in row-major order.
struct flat_range {
  index_t start = 0;
  index_t stop = 0;

  index_t size() const noexcept { return stop - start; }
  friend bool operator==(const flat_range&, const flat_range&) = default;
};

/// `"[4:9]"`.
inline std::string to_string(const flat_range& range) {
  return "[" + std::to_string(range.start) + ":" + std::to_string(range.stop) + "]";
}

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
  /// The stored global shape may be another: beyond it a load fills with zeros.
  bool allow_shape_mismatch = false;
  std::optional<flat_range> range{};

  bool is_regular() const noexcept { return fragmentation.has_value(); }

  /// The shape of the local tensor: that of the shard, or the length of its flat piece.
  dims data_shape() const { return range ? dims{range->size()} : local_shape; }
  tensor_spec data_spec() const { return {type, data_shape()}; }

  /// The part of the global tensor that the shard is (of which a flat piece is a part).
  box global_box() const {
    box out{global_offset, dims(prepended_axes, 1)};
    for (const index_t extent : local_shape) out.shape.push_back(extent);
    return out;
  }

  /// Whether the parts fit each other. Errors: `invalid_argument` naming the key and what does not
  /// fit, `out_of_range` where the shard leaves the global tensor.
  result<void> check() const;

  /// Whether a local tensor is one of this shard. Errors: `dtype_mismatch`, `shape_mismatch`.
  result<void> check_value(const tensor_spec& value) const;

  friend bool operator==(const shard_metadata&, const shard_metadata&) = default;
};

namespace detail {

inline error bad_shard(const shard_metadata& shard, std::string what) {
  return {errc::invalid_argument, "shard of \"" + shard.key + "\": " + std::move(what)};
}

inline result<void> check_ranks(const shard_metadata& shard) {
  const std::size_t rank = shard.global_shape.rank();
  if (shard.global_offset.rank() != rank)
    return bad_shard(shard, "global offset " + to_string(shard.global_offset) +
                                " has not the rank of global shape " +
                                to_string(shard.global_shape));
  if (shard.prepended_axes > rank || shard.local_shape.rank() != rank - shard.prepended_axes)
    return bad_shard(shard, "local shape " + to_string(shard.local_shape) + " and " +
                                std::to_string(shard.prepended_axes) +
                                " prepended axes have not the rank of global shape " +
                                to_string(shard.global_shape));
  if (shard.fragmentation && shard.fragmentation->rank() != rank)
    return bad_shard(shard, "fragmentation " + to_string(*shard.fragmentation) +
                                " has not the rank of global shape " +
                                to_string(shard.global_shape));
  return {};
}

inline result<void> check_axis(const shard_metadata& shard, std::size_t axis) {
  const index_t global = shard.global_shape[axis];
  const index_t offset = shard.global_offset[axis];
  const bool prepended = axis < shard.prepended_axes;
  const index_t local = prepended ? 1 : shard.local_shape[axis - shard.prepended_axes];
  const auto refused = [&](const std::string& what) {
    return bad_shard(shard, "axis " + std::to_string(axis) + ": " + what);
  };
  if (global < 0 || offset < 0 || local < 0) return refused("a negative shape or offset");
  index_t end = 0;
  if (__builtin_add_overflow(offset, local, &end) || end > global)
    return error{errc::out_of_range, refused("offset " + std::to_string(offset) + " and extent " +
                                             std::to_string(local) + " leave the global extent " +
                                             std::to_string(global))
                                         .message};
  if (!shard.fragmentation) return {};
  const index_t fragments = (*shard.fragmentation)[axis];
  if (fragments < 1) return refused("a fragmentation below 1");
  if (local != 0 && offset % local != 0)
    return refused("global offset " + std::to_string(offset) +
                   " is not divisible by the local extent " + std::to_string(local));
  index_t covered = 0;
  if (__builtin_mul_overflow(local, fragments, &covered) || covered != global)
    return refused(std::to_string(fragments) + " fragments of " + std::to_string(local) +
                   " are not the global extent " + std::to_string(global));
  return {};
}

}  // namespace detail

inline result<void> shard_metadata::check() const {
  const std::size_t rank = global_shape.rank();
  if (key.empty()) return error{errc::invalid_argument, "shard without a key"};
  if (!type.valid()) return detail::bad_shard(*this, "no data type");
  ZARRPOINT_CHECK(detail::check_ranks(*this));
  for (std::size_t axis = 0; axis < rank; ++axis) ZARRPOINT_CHECK(detail::check_axis(*this, axis));
  // The context of the error is made where there is one: many shards are checked.
  if (auto bytes = byte_count(global_shape, std::max<std::size_t>(type.size(), 1)); !bytes)
    return std::move(bytes).at("shard of \"" + key + "\"").failure();
  if (range && local_shape.rank() == 0)
    return detail::bad_shard(*this, "a flat range of a shard of rank 0, which cannot be divided");
  ZARRPOINT_TRY(volume, element_count(local_shape));
  if (range && (range->start < 0 || range->stop < range->start || range->stop > volume))
    return error{
        errc::out_of_range,
        detail::bad_shard(*this, "flat range " + to_string(*range) + " leaves a shard of " +
                                     std::to_string(volume) + " elements")
            .message};
  return {};
}

inline result<void> shard_metadata::check_value(const tensor_spec& value) const {
  if (value.type != type)
    return error{errc::dtype_mismatch, "shard of \"" + key + "\": the value is of dtype " +
                                           std::string(to_string(value.type)) + ", wanted " +
                                           std::string(to_string(type))};
  if (range && value.shape.rank() != 1)
    return error{errc::shape_mismatch, "shard of \"" + key +
                                           "\": the value of a flat range has shape " +
                                           to_string(value.shape) + ", wanted rank 1"};
  if (value.shape != data_shape())
    return error{errc::shape_mismatch, "shard of \"" + key + "\": the value has shape " +
                                           to_string(value.shape) + ", wanted " +
                                           to_string(data_shape())};
  return {};
}

}  // namespace zarrpoint::inline v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/grid/plan.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/array/shard/sharding_codec.hpp>
#include <zarrpoint/codec/base/any_codec.hpp>
#include <zarrpoint/codec/base/chain.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/tensor_view.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE bool array_layout::is_row_major() const noexcept {
  for (std::size_t i = 0; i < order_.rank(); ++i)
    if (axis_of(i) != i) return false;
  return true;
}

ZARRPOINT_INLINE dims array_layout::index_coordinates(const dims& inner) const {
  dims out(inner.rank(), 0);
  for (std::size_t i = 0; i < inner.rank(); ++i) out[i] = inner[axis_of(i)];
  return out;
}

ZARRPOINT_INLINE std::size_t array_layout::slot(const dims& inner) const {
  const dims counts = grid_.inner_per_object();
  index_t at = 0;
  for (std::size_t i = 0; i < inner.rank(); ++i) at = at * counts[axis_of(i)] + inner[axis_of(i)];
  return static_cast<std::size_t>(at);
}

/// The codecs of an array: before, at and after `sharding_indexed`.
struct array_layout::split {
  std::vector<codec_spec> prefix;
  std::optional<sharding_config> sharding;
  std::vector<codec_spec> suffix;

  static result<split> of(const std::vector<codec_spec>& codecs) {
    split out;
    for (const codec_spec& one : codecs) {
      if (one.name != sharding_config::name) {
        (out.sharding ? out.suffix : out.prefix).push_back(one);
      } else if (out.sharding) {
        return error{errc::corrupt, "sharding_indexed occurs twice in the list of codecs"};
      } else {
        ZARRPOINT_TRY(config, sharding_config::from_configuration(one.configuration));
        out.sharding = std::move(config);
      }
    }
    return out;
  }
};

ZARRPOINT_INLINE result<array_layout> array_layout::resolve(const array_metadata& metadata,
                                                            const codec_table& known,
                                                            const limits& limit) {
  ZARRPOINT_CHECK(detail::check_array_metadata(metadata));
  array_layout out;
  out.grid_ = {metadata.shape, metadata.chunk_shape, metadata.chunk_shape};
  for (std::size_t i = 0; i < metadata.shape.rank(); ++i)
    out.order_.push_back(static_cast<index_t>(i));
  ZARRPOINT_TRY(parts, split::of(metadata.codecs));
  const detail::array_codecs codecs(known, limit.max_inner_chunks);
  if (parts.sharding && parts.suffix.empty()) {
    ZARRPOINT_TRY(carried, out.carry_prefix(parts, metadata.chunk_spec(), codecs));
    if (carried) {
      ZARRPOINT_CHECK(out.resolve_shard(metadata, parts, codecs));
      return out;
    }
  }
  ZARRPOINT_TRY(chain, codec_chain::resolve(metadata.codecs, metadata.chunk_spec(), codecs,
                                            metadata.fill_element()));
  out.chain_ = std::move(chain);
  return out;
}

ZARRPOINT_INLINE result<void> array_layout::resolve_shard(const array_metadata& metadata,
                                                          split& parts,
                                                          const detail::array_codecs& known) {
  sharding_config& config = *parts.sharding;
  const std::size_t rank = metadata.shape.rank();
  if (config.chunk_shape.rank() != rank)
    return error{errc::corrupt, "sharding_indexed: chunk shape " + to_string(config.chunk_shape) +
                                    " must have the same rank as shape " +
                                    to_string(metadata.shape)};
  grid_.inner_shape = dims(rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    index_t& extent = grid_.inner_shape[axis_of(i)];
    extent = config.chunk_shape[i];
    // As for chunks: an axis of length 0 may have chunks of 0, which became 1 in the metadata.
    if (extent == 0 && metadata.shape[axis_of(i)] == 0) extent = 1;
    if (extent < 1 || grid_.object_shape[axis_of(i)] % extent != 0)
      return error{errc::corrupt, "sharding_indexed: chunk shape " + to_string(config.chunk_shape) +
                                      " does not divide the shard of shape " +
                                      to_string(index_coordinates(grid_.object_shape))};
  }
  ZARRPOINT_TRY(count, element_count(grid_.inner_per_object()));
  inner_count_ = static_cast<std::uint64_t>(count);
  config.codecs.insert(config.codecs.begin(), parts.prefix.begin(), parts.prefix.end());
  ZARRPOINT_TRY(made, known.make_parts(config, {metadata.type, grid_.inner_shape}, inner_count_,
                                       metadata.fill_element()));
  shard_ = std::move(made);
  return {};
}

/// Learns the order of the axes that the codecs before `sharding_indexed` give a shard, by showing
/// them a view whose strides number its axes. False when one of them does more than reorder axes.
ZARRPOINT_INLINE result<bool> array_layout::carry_prefix(const split& parts,
                                                         const tensor_spec& shard,
                                                         const detail::array_codecs& known) {
  host_view numbered{nullptr, shard.type, shard.shape, order_, {}, {}};
  for (const codec_spec& one : parts.prefix) {
    if (!one.must_understand && !known.knows(one.name)) continue;  // as the chain does
    ZARRPOINT_TRY(made, known.make(one, numbered.spec(), {}));
    ZARRPOINT_TRY(bound, made.resolve(numbered.spec()).at("codec \"" + one.name + "\""));
    const detail::erased_array_codec* codec = bound.if_array_to_array();
    if (codec == nullptr)
      return error{errc::corrupt, "codec \"" + one.name + "\" cannot precede sharding_indexed"};
    if (!codec->has_views()) return false;
    numbered = codec->encode_view(numbered);
    if (numbered.rank() != shard.shape.rank()) return false;
  }
  const dims& axes = numbered.strides;
  if (!std::is_permutation(axes.begin(), axes.end(), order_.begin(), order_.end())) return false;
  order_ = axes;
  return true;
}

}}  // namespace zarrpoint::v0

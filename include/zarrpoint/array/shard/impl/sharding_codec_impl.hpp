// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_tensor.hpp>
#include <zarrpoint/array/grid/plan.hpp>
#include <zarrpoint/array/shard/shard_index.hpp>
#include <zarrpoint/array/shard/shard_parts.hpp>
#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/array/shard/sharding_codec.hpp>
#include <zarrpoint/codec/base/chain.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<sharding_codec> sharding_codec::from_configuration(const node&) {
  return error{errc::unsupported, "sharding_indexed is not allowed at this place"};
}

ZARRPOINT_INLINE array_codecs::array_codecs(const codec_table& known,
                                            std::uint64_t max_inner_chunks)
    : known_(known), max_inner_chunks_(max_inner_chunks) {}

ZARRPOINT_INLINE std::string sharding_codec::inner_name(const box& part) const {
  dims at = part.offset;
  for (std::size_t d = 0; d < at.rank(); ++d) at[d] /= grid_.inner_shape[d];
  return "inner chunk " + to_string(at);
}

ZARRPOINT_INLINE bool sharding_codec::knows_fill(const dtype& type) const {
  return type.is_variable() || fill_.size() == type.size();
}

ZARRPOINT_INLINE bool array_codecs::knows(std::string_view name) const {
  return name == sharding_config::name || known_.find(name) != nullptr;
}

ZARRPOINT_INLINE result<any_codec> array_codecs::make(const codec_spec& spec,
                                                      const tensor_spec& decoded,
                                                      bytes_view fill) const {
  if (spec.name != sharding_config::name) return known_.make(spec, &decoded, fill);
  ZARRPOINT_TRY(made, make_sharding(spec.configuration, decoded, fill));
  return any_codec(std::move(made));
}

ZARRPOINT_INLINE result<shard_parts> array_codecs::make_parts(const sharding_config& config,
                                                              const tensor_spec& inner,
                                                              std::uint64_t inner_count,
                                                              bytes_view fill) const {
  if (inner_count > max_inner_chunks_)
    return error{errc::resource_limit, "sharding_indexed: " + std::to_string(inner_count) +
                                           " inner chunks in a shard are more than the limit of " +
                                           std::to_string(max_inner_chunks_)};
  ZARRPOINT_TRY(chain, codec_chain::resolve(config.codecs, inner, *this, fill));
  // Two axes, not those of the shard and one more: the order of the integers is the same, and the
  // codecs that an index may have look at nothing else.
  const tensor_spec index_spec{dtype_kind::uint64, {static_cast<index_t>(inner_count), 2}};
  ZARRPOINT_TRY(index_chain, codec_chain::resolve(config.index_codecs, index_spec, known_)
                                 .at("sharding_indexed: index_codecs"));
  if (!index_chain.fixed_size() || !index_chain.can_encode())
    return error{errc::unsupported,
                 "sharding_indexed: index_codecs must write a fixed number of bytes"};
  const std::uint64_t index_size = index_chain.encoded_bound();
  return shard_parts{config.codecs, std::move(chain), std::move(index_chain), index_size,
                     config.location};
}

/// The most bytes of a shard: all inner chunks at their limit, each after a gap of a page, which is
/// as far as writers are known to align.
ZARRPOINT_INLINE std::uint64_t shard_bound(const shard_parts& parts, std::uint64_t inner_count) {
  std::uint64_t bound = 0;
  if (__builtin_add_overflow(parts.chain.stored_limit(), std::uint64_t{4096}, &bound) ||
      __builtin_mul_overflow(bound, inner_count, &bound) ||
      __builtin_add_overflow(bound, parts.index_size, &bound))
    return UINT64_MAX;
  return bound;
}

ZARRPOINT_INLINE result<sharding_codec> array_codecs::make_sharding(const node& configuration,
                                                                    const tensor_spec& decoded,
                                                                    bytes_view fill) const {
  ZARRPOINT_TRY(config, sharding_config::from_configuration(configuration));
  sharding_codec out;
  out.grid_ = {decoded.shape, decoded.shape, config.chunk_shape};
  bool divides = config.chunk_shape.rank() == decoded.shape.rank();
  for (std::size_t i = 0; divides && i < decoded.shape.rank(); ++i)
    divides = config.chunk_shape[i] > 0 && decoded.shape[i] % config.chunk_shape[i] == 0;
  if (!divides)
    return error{errc::corrupt, "sharding_indexed: chunk shape " + to_string(config.chunk_shape) +
                                    " does not divide the shard of shape " +
                                    to_string(decoded.shape)};
  ZARRPOINT_TRY(count, element_count(out.grid_.inner_per_object()));
  out.inner_count_ = static_cast<std::uint64_t>(count);
  ZARRPOINT_TRY(parts,
                make_parts(config, {decoded.type, config.chunk_shape}, out.inner_count_, fill));
  out.bound_ = detail::shard_bound(parts, out.inner_count_);
  out.fill_.assign(fill.begin(), fill.end());
  out.written_ = configuration;
  out.parts_ = detail::make_counted<const shard_parts>(std::move(parts));
  return out;
}

ZARRPOINT_INLINE result<std::uint64_t> sharding_codec::encoded_size(const host_view& from) const {
  std::uint64_t total = parts_->index_size;
  if (const std::uint64_t each = parts_->chain.encoded_bound(); each != UINT64_MAX) {
    ZARRPOINT_TRY(bytes, checked_mul(each, inner_count_));
    return checked_add(total, bytes);
  }
  ZARRPOINT_CHECK(for_each_inner([&](std::size_t, const box& part) -> result<void> {
    ZARRPOINT_TRY(bytes, parts_->chain.encoded_bound(subview(from, part)));
    ZARRPOINT_TRY(sum, checked_add(total, bytes));
    total = sum;
    return {};
  }));
  return total;
}

ZARRPOINT_INLINE result<std::size_t> sharding_codec::encode(const host_view& from, mutable_bytes to,
                                                            codec_workspace& scratch) const {
  codec_workspace& own = scratch.nested();
  const shard_parts& parts = *parts_;
  ZARRPOINT_TRY(index, shard_index::make(inner_count_, scratch.resource()));
  const bool at_start = parts.location == index_location::start;
  std::uint64_t end = at_start ? parts.index_size : 0;
  const auto append = [&](bytes_view bytes) -> result<void> {
    if (bytes.size() > to.size() - end)
      return error{errc::out_of_range, "the shard grew while being encoded"};
    if (!bytes.empty()) std::memcpy(to.data() + end, bytes.data(), bytes.size());
    end += bytes.size();
    return {};
  };
  if (end > to.size()) return error{errc::out_of_range, "no room for the shard index"};
  const bool elide = knows_fill(from.type);
  ZARRPOINT_CHECK(for_each_inner([&](std::size_t slot, const box& part) -> result<void> {
    const host_view inner = subview(from, part);
    if (elide && all_equal(inner, fill_)) return {};
    ZARRPOINT_TRY(bytes, parts.chain.encode(inner, own).at(inner_name(part)));
    index.set(slot, {end, bytes.size()});
    return append(bytes);
  }));
  const host_view words =
      dense_view(std::as_const(index).words().data(), parts.index_chain.chunk_spec());
  ZARRPOINT_TRY(stored, parts.index_chain.encode(words, own).at("shard index"));
  if (!at_start) {
    ZARRPOINT_CHECK(append(stored));
  } else {
    std::memcpy(to.data(), stored.data(), stored.size());
  }
  return static_cast<std::size_t>(end);
}

ZARRPOINT_INLINE result<void> sharding_codec::decode(bytes_view stored,
                                                     const mutable_host_view& into,
                                                     codec_workspace& scratch) const {
  codec_workspace& own = scratch.nested();
  const shard_parts& parts = *parts_;
  if (stored.size() < parts.index_size)
    return detail::too_short_for_index(stored.size(), parts.index_size);
  const bytes_view index_bytes =
      stored.subspan(parts.index_offset(stored.size()), parts.index_size);
  ZARRPOINT_TRY(index, detail::decode_index(parts, index_bytes, stored.size(), own));
  return for_each_inner([&](std::size_t slot, const box& part) -> result<void> {
    const mutable_host_view inner = subview(into, part);
    const shard_entry entry = index[slot];
    if (!entry.absent())
      return parts.chain.decode(stored.subspan(entry.offset, entry.size), inner, own)
          .at(inner_name(part));
    if (!knows_fill(into.type))
      return error{errc::unsupported, inner_name(part) +
                                          " is not stored, so it is the fill value, but "
                                          "the codecs before sharding_indexed cannot "
                                          "be applied to the fill value"};
    return detail::fill_within_budget(inner, fill_, scratch);
  });
}

}}}  // namespace zarrpoint::v0::detail

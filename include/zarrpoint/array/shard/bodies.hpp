// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/array/shard/shard_index.hpp>
#include <zarrpoint/array/shard/shard_index_cache.hpp>
#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/array/shard/sharding_codec.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/zarr/codec_specs.hpp>
#include <zarrpoint/zarr/document.hpp>

#include <algorithm>
#include <new>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// --------------------------------------------------------------------------------- shard_index.hpp

ZARRPOINT_INLINE result<std::uint64_t> shard_place(std::uint64_t end, std::uint64_t size,
                                                   std::uint32_t alignment) {
  constexpr std::uint64_t worth_aligning = 4096;
  if (alignment <= 1 || size < worth_aligning) return end;
  return checked_round_up(end, std::uint64_t{alignment});
}

ZARRPOINT_INLINE result<shard_index> shard_index::make(std::uint64_t count, memory_resource& from) {
  ZARRPOINT_TRY(size, checked_mul<std::uint64_t>(count, sizeof(shard_entry)));
  shard_index out;
  ZARRPOINT_TRY(memory, buffer::allocate(size, from));
  out.memory_ = std::move(memory);
  std::fill_n(out.memory_.data(), size, std::byte{0xff});
  return out;
}

ZARRPOINT_INLINE shard_entry shard_index::operator[](std::size_t i) const noexcept {
  const std::byte* at = memory_.data() + i * sizeof(shard_entry);
  shard_entry out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

ZARRPOINT_INLINE void shard_index::set(std::size_t i, shard_entry entry) noexcept {
  std::memcpy(memory_.data() + i * sizeof entry, &entry, sizeof entry);
}

ZARRPOINT_INLINE std::uint64_t shard_index::stored_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    const shard_entry entry = (*this)[i];
    if (!entry.absent()) sum += entry.size;
  }
  return sum;
}

ZARRPOINT_INLINE error shard_index::bad(std::size_t i, const std::string& what) {
  return {errc::corrupt, "shard index: entry " + std::to_string(i) + " " + what};
}

ZARRPOINT_INLINE std::string shard_index::range(const shard_entry& entry) {
  return std::to_string(entry.size) + " bytes at " + std::to_string(entry.offset);
}

ZARRPOINT_INLINE result<void> shard_index::check(std::uint64_t object_size,
                                                 std::uint64_t index_offset,
                                                 std::uint64_t index_size,
                                                 memory_resource& scratch) const {
  std::uint64_t last_end = 0;
  bool ascending = true;
  for (std::size_t i = 0; i < size(); ++i) {
    const shard_entry entry = (*this)[i];
    if (entry.absent()) continue;
    if (entry.offset == shard_entry::absent_mark || entry.size == shard_entry::absent_mark)
      return bad(i, "marks its inner chunk as absent in one of its two fields only");
    std::uint64_t end = 0;
    if (__builtin_add_overflow(entry.offset, entry.size, &end) || end > object_size)
      return bad(i, "points to " + range(entry) + ", past the end of the " +
                        std::to_string(object_size) + " bytes of the shard");
    if (entry.size != 0 && entry.offset < index_offset + index_size && index_offset < end)
      return bad(i, "points to " + range(entry) + ", which is inside the index");
    ascending = ascending && entry.offset >= last_end;
    last_end = end;
  }
  return ascending ? result<void>() : check_disjoint(scratch);
}

/// Inner chunks may lie in any order, so that they have to be sorted to be compared. In a shard
/// that was extended most lie in the order of the index still, and only the others are sorted.
ZARRPOINT_INLINE result<void> shard_index::check_disjoint(memory_resource& scratch) const {
  ZARRPOINT_TRY(memory, buffer::allocate(size() * sizeof(numbered_place), scratch));
  auto* const first = reinterpret_cast<numbered_place*>(memory.data());
  numbered_place* others = first;  // to here
  numbered_place* const end = first + size();
  numbered_place* in_order = end;  // from here on: each ends before the next one begins
  for (std::size_t i = size(); i-- > 0;) {
    const shard_entry entry = (*this)[i];
    if (entry.absent() || entry.size == 0) continue;
    const bool fits = in_order == end || entry.offset + entry.size <= in_order->number;
    ::new (static_cast<void*>(fits ? --in_order : others++)) numbered_place{entry.offset, i};
  }
  sort_numbers({first, others});
  const numbered_place* before = nullptr;
  for (const numbered_place* at = first; at != others || in_order != end;) {
    const bool is_other = at != others && (in_order == end || at->number < in_order->number);
    const numbered_place* const next = is_other ? at++ : in_order++;
    if (before != nullptr && next->number < before->number + (*this)[before->place].size)
      return bad(std::max(next->place, before->place),
                 "overlaps entry " + std::to_string(std::min(next->place, before->place)));
    before = next;
  }
  return {};
}

}  // namespace detail

// ------------------------------------------------------------------------------------ sharding.hpp

ZARRPOINT_INLINE bool shard_parts::is_nested() const {
  return std::any_of(codecs.begin(), codecs.end(),
                     [](const codec_spec& one) { return one.name == sharding_config::name; });
}

ZARRPOINT_INLINE std::uint64_t shard_parts::index_offset(std::uint64_t object_size) const noexcept {
  return location == index_location::end ? object_size - index_size : 0;
}

namespace detail {

ZARRPOINT_INLINE result<shard_index> decode_index(const shard_parts& parts, bytes_view stored,
                                                  std::uint64_t object_size,
                                                  codec_workspace& scratch) {
  const auto count = static_cast<std::uint64_t>(parts.index_chain.chunk_spec().shape[0]);
  ZARRPOINT_TRY(index, shard_index::make(count, scratch.resource()));
  const mutable_host_view words = dense_view(index.words().data(), parts.index_chain.chunk_spec());
  ZARRPOINT_CHECK(parts.index_chain.decode(stored, words, scratch).at("shard index"));
  ZARRPOINT_CHECK(index.check(object_size, parts.index_offset(object_size), parts.index_size,
                              scratch.resource()));
  return std::move(index);
}

ZARRPOINT_INLINE error too_short_for_index(std::uint64_t size, std::uint64_t index_size) {
  return {errc::corrupt, std::to_string(size) + " bytes are too few for the shard index of " +
                             std::to_string(index_size)};
}

}  // namespace detail

ZARRPOINT_INLINE std::vector<codec_spec> sharding_config::default_index_codecs() {
  return {{"bytes", json::object{{"endian", "little"}}}, {"crc32c"}};
}

namespace detail {

/// Whether shards lie within each other deeper than `levels`. What is made of each level holds a
/// copy of all below it, which must not make a short document take long.
ZARRPOINT_INLINE bool is_deeper(const json& configuration, std::size_t levels) {
  const json::array* const list = configuration.find_array("codecs");
  if (list == nullptr) return false;
  for (const json& one : *list) {
    const json* const name = one.find("name");
    if (name == nullptr || *name != json(sharding_config::name)) continue;
    const json* const inner = one.find("configuration");
    if (levels == 1 || (inner != nullptr && is_deeper(*inner, levels - 1))) return true;
  }
  return false;
}

}  // namespace detail

ZARRPOINT_INLINE result<sharding_config> sharding_config::from_configuration(
    const json& configuration) {
  const json::object* members = configuration.if_object();
  if (members == nullptr) return error{errc::corrupt, "sharding_indexed: configuration is missing"};
  if (detail::is_deeper(configuration, most_levels))
    return error{errc::unsupported, "sharding_indexed: shards are nested deeper than " +
                                        std::to_string(most_levels) + " levels"};
  return parse(configuration, *members).at(name);
}

ZARRPOINT_INLINE result<json> sharding_config::configuration() const {
  ZARRPOINT_TRY(inner, detail::codec_specs_to_json(codecs));
  ZARRPOINT_TRY(index, detail::codec_specs_to_json(index_codecs));
  return json(json::object{{"chunk_shape", detail::extents_to_json(chunk_shape)},
                           {"codecs", std::move(inner)},
                           {"index_codecs", std::move(index)},
                           {"index_location", location == index_location::end ? "end" : "start"}});
}

ZARRPOINT_INLINE result<codec_spec> sharding_config::to_spec() const {
  ZARRPOINT_TRY(members, configuration());
  return codec_spec{std::string(name), std::move(members), true};
}

ZARRPOINT_INLINE result<sharding_config> sharding_config::parse(const json& configuration,
                                                                const json::object& members) {
  ZARRPOINT_CHECK(
      detail::only_members(members, {"chunk_shape", "codecs", "index_codecs", "index_location"}));
  sharding_config out;
  ZARRPOINT_TRY(shape_json, detail::required(configuration, "chunk_shape"));
  ZARRPOINT_TRY(shape, detail::parse_extents(*shape_json).at("chunk_shape"));
  out.chunk_shape = shape;
  ZARRPOINT_TRY(codecs_json, detail::required(configuration, "codecs"));
  ZARRPOINT_TRY(inner, detail::parse_codec_specs(*codecs_json).at("codecs"));
  out.codecs = std::move(inner);
  ZARRPOINT_TRY(index_node, detail::required(configuration, "index_codecs"));
  ZARRPOINT_TRY(index, detail::parse_codec_specs(*index_node).at("index_codecs"));
  out.index_codecs = std::move(index);
  if (const json* at = configuration.find("index_location")) {
    const std::string* text = at->if_string();
    if (text == nullptr || (*text != "start" && *text != "end"))
      return error{errc::corrupt, "index_location must be \"start\" or \"end\""};
    out.location = *text == "end" ? index_location::end : index_location::start;
  }
  return out;
}

namespace detail {

// ------------------------------------------------------------------------------ sharding_codec.hpp

ZARRPOINT_INLINE result<sharding_codec> sharding_codec::from_configuration(const json&) {
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
    return error{errc::unsupported, "sharding_indexed: index_codecs must have a fixed size"};
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

ZARRPOINT_INLINE result<sharding_codec> array_codecs::make_sharding(const json& configuration,
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
                                          " is not stored, and codecs before sharding_indexed take "
                                          "no fill value"};
    return detail::fill_within_budget(inner, fill_, scratch);
  });
}

}  // namespace detail

// -------------------------------------------------------------------------------------- layout.hpp

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
        return error{errc::corrupt, "codecs: sharding_indexed occurs twice"};
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

// --------------------------------------------------------------------------- shard_index_cache.hpp

ZARRPOINT_INLINE shard_index_cache::shard_index_cache(std::size_t most, std::size_t most_open)
    : most_(most), most_open_(most_open) {}

ZARRPOINT_INLINE std::size_t shard_index_cache::share_of(std::size_t budget) noexcept {
  return std::min(std::size_t{16} << 20, budget / 32);
}

ZARRPOINT_INLINE void shard_index_cache::clear() {
  const std::lock_guard lock(mutex_);
  opening_.clear();
  by_key_.clear();
  used_.clear();
  bytes_ = 0;
}

ZARRPOINT_INLINE std::size_t shard_index_cache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

ZARRPOINT_INLINE result<shard_index_cache::shard> shard_index_cache::with_own_index(shard of) {
  if (of.index == nullptr) return of;
  ZARRPOINT_TRY(copy, own_copy(*of.index));
  of.index = std::move(copy);
  return of;
}

ZARRPOINT_INLINE result<shard_index_cache::index_pointer> shard_index_cache::own_copy(
    const detail::shard_index& of) {
  ZARRPOINT_TRY(copy, detail::shard_index::make(of.size()));
  const bytes_view words = of.words();
  std::copy(words.begin(), words.end(), copy.words().begin());
  return detail::make_counted<const detail::shard_index>(std::move(copy));
}

ZARRPOINT_INLINE std::size_t shard_index_cache::entry_size(
    std::string_view key, const detail::shard_index& index) noexcept {
  return entry_bytes + 2 * key.size() + index.words().size();
}

ZARRPOINT_INLINE shard_index_cache::place shard_index_cache::place_of(std::string_view key) {
  return std::lower_bound(
      by_key_.begin(), by_key_.end(), key,
      [](entries::iterator one, std::string_view wanted) { return one->key < wanted; });
}

ZARRPOINT_INLINE const shard_index_cache::shard* shard_index_cache::find_kept(
    std::string_view key) {
  const auto found = place_of(key);
  if (found == by_key_.end() || (*found)->key != key || (*found)->version) return nullptr;
  use(*found);
  return &used_.front().kept;
}

ZARRPOINT_INLINE shard_index_cache::index_pointer shard_index_cache::find(
    std::string_view key, const index_version& version) {
  const std::lock_guard lock(mutex_);
  const auto found = place_of(key);
  if (found == by_key_.end() || (*found)->key != key || (*found)->version != version)
    return nullptr;
  use(*found);
  return used_.front().kept.index;
}

ZARRPOINT_INLINE void shard_index_cache::keep(std::string_view key, const index_version& version,
                                              const detail::shard_index& index) {
  if (entry_size(key, index) > most_) return;
  result<index_pointer> copy = own_copy(index);
  if (!copy) return;
  const std::lock_guard lock(mutex_);
  put(key, {nullptr, *std::move(copy)}, version);
}

ZARRPOINT_INLINE std::shared_ptr<shard_index_cache::attempt> shard_index_cache::find_attempt(
    std::string_view key) const {
  for (const std::shared_ptr<attempt>& one : opening_)
    if (one->key == key) return one;
  return nullptr;
}

ZARRPOINT_INLINE void shard_index_cache::put(std::string_view key, shard made,
                                             std::optional<index_version> version) {
  const std::size_t bytes = entry_size(key, *made.index);
  if (bytes > most_ || most_open_ == 0) return;
  // What takes memory comes before what is then noted; where there is none, the index is not kept.
  entries one;
  const auto room = guarded([&]() -> result<void> {
    one.push_front({std::string(key), bytes, std::move(made), version});
    if (by_key_.size() == by_key_.capacity()) by_key_.reserve(2 * by_key_.size() + 8);
    return {};
  });
  if (!room) return;
  auto at = place_of(key);
  if (at != by_key_.end() && (*at)->key == key) at = drop(at);
  used_.splice(used_.begin(), one);
  by_key_.insert(at, used_.begin());
  bytes_ += bytes;
  while (bytes_ > most_ || used_.size() > most_open_) drop(place_of(used_.back().key));
}

ZARRPOINT_INLINE shard_index_cache::place shard_index_cache::drop(place one) {
  bytes_ -= (*one)->bytes;
  used_.erase(*one);
  return by_key_.erase(one);
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/array/base/bodies.hpp>
#include <zarrpoint/array/grid/bodies.hpp>
#include <zarrpoint/zarr/type_bodies.hpp>
#endif

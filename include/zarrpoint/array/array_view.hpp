// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_class.hpp>
#include <zarrpoint/array/array_transfer.hpp>
#include <zarrpoint/array/read_operation.hpp>
#include <zarrpoint/array/stored_object.hpp>
#include <zarrpoint/exec/parallel_for.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

namespace detail {

/// The inner chunks of a lone object that hold elements of the array, in row-major order, when
/// chunks that lie one after another are then the whole array in row-major order; else nothing.
inline std::optional<std::vector<std::size_t>> row_major_slots(const array_layout& layout) {
  const chunk_grid& grid = layout.grid();
  const std::size_t rank = grid.shape.rank();
  std::size_t first =
      0;  // the first axis that is not of length 1: only there padding ends the data
  while (first < rank && grid.shape[first] == 1) ++first;
  std::size_t split = rank;  // the axis whose inner extent is neither 1 nor all
  std::size_t count = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    if (grid.object_shape[d] < grid.shape[d]) return std::nullopt;
    if (d > first && grid.object_shape[d] != grid.shape[d]) return std::nullopt;
    count *= static_cast<std::size_t>(ceil_div(grid.shape[d], grid.inner_shape[d]));
    if (d < first) continue;
    if (split != rank && grid.inner_shape[d] != grid.shape[d]) return std::nullopt;
    if (split == rank && grid.inner_shape[d] != 1) split = d;
  }
  if (count > 1) {
    // Padding inside an inner chunk would come between it and the next one.
    for (std::size_t d = 0; d < first; ++d)
      if (grid.inner_shape[d] != 1) return std::nullopt;
  }
  std::vector<std::size_t> slots;
  slots.reserve(count);
  dims at(rank, 0);
  for (std::size_t i = 0; i < count; ++i) {
    slots.push_back(layout.slot(at));
    for (std::size_t d = rank; d-- > 0;) {
      if (++at[d] < ceil_div(grid.shape[d], grid.inner_shape[d])) break;
      at[d] = 0;
    }
  }
  return slots;
}

/// Whether the inner chunks lie one after another in the object.
inline bool are_adjacent(const stored_object& object, const std::vector<std::size_t>& slots,
                         std::uint64_t size) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const shard_entry entry = object.entry(slots[i]);
    if (entry.absent() || entry.size != size) return false;
    if (i != 0 && entry.offset != object.entry(slots[i - 1]).offset + size) return false;
  }
  return true;
}

inline result<void> verify_mapped(const context& how, const raw_extent& extent, bytes_view stored) {
  const auto size = static_cast<std::size_t>(extent.block_bytes);
  return parallel_for(
      how.executor, extent.crc32c.size(),
      [&](std::size_t i) { return extent.check(i, crc32c(stored.subspan(i * size, size))); },
      {.stop = how.stop});
}

/// Where the elements lie in the lone object of an array; nothing where the layout does not allow
/// it.
inline result<std::optional<raw_extent>> find_raw(const array_state& of, const context& how,
                                                  const read_options& options) {
  const array_layout& layout = of.layout;
  const tensor_spec spec = of.metadata.spec();
  if (!of.metadata.edges.empty() || box::whole(spec.shape).empty())
    return std::optional<raw_extent>();
  if (!layout.chain().is_raw() || !layout.is_row_major()) return std::optional<raw_extent>();
  const auto slots = row_major_slots(layout);
  if (!slots) return std::optional<raw_extent>();

  const std::string key = of.chunk_key(dims(spec.shape.rank(), 0));
  const std::shared_ptr<scratch_pool> pool = scratch_of(how);
  const scratch_pool::lease scratch = pool->borrow();
  ZARRPOINT_TRY(object,
                stored_object::open(of, key, *scratch, {options.expected}).at("chunk " + key));
  const std::uint64_t size = layout.chain().encoded_bound();
  if (object == nullptr || !are_adjacent(*object, *slots, size)) return std::optional<raw_extent>();
  raw_extent out{.key = key,
                 .offset = object->entry(slots->front()).offset,
                 .block_bytes = size,
                 .blocks = slots->size()};
  const object_digest* expected =
      options.expected != nullptr ? options.expected->find(key) : nullptr;
  if (expected != nullptr && options.checksums) {
    out.crc32c.reserve(slots->size());
    for (const std::size_t slot : *slots) out.crc32c.push_back(expected->crc32c[slot]);
  }
  out.object = std::move(object->bytes);
  return std::optional<raw_extent>(std::move(out));
}

/// The lone object of an array, mapped; nothing where the layout or the store does not allow it.
inline result<std::optional<mapped_view>> map_array(const array_state& of, const context& how,
                                                    const read_options& options) {
  const tensor_spec spec = of.metadata.spec();
  if (box::whole(spec.shape).empty() && of.metadata.edges.empty() && of.layout.chain().is_raw() &&
      of.layout.is_row_major())
    return mapped_view{dense_view(static_cast<const std::byte*>(nullptr), spec), {}};
  ZARRPOINT_TRY(extent, find_raw(of, how, options));
  if (!extent) return std::optional<mapped_view>();
  result<mapping> mapped = extent->object->map();
  if (!mapped) {
    if (mapped.failure().code == errc::unsupported) return std::optional<mapped_view>();
    return std::move(mapped).failure();
  }
  const std::uint64_t size = extent->block_bytes * extent->blocks;
  if (mapped->bytes().size() < extent->offset + size)
    return error{errc::corrupt, "chunk " + extent->key + ": it has changed since it was opened"};
  const bytes_view bytes = mapped->bytes().subspan(static_cast<std::size_t>(extent->offset),
                                                   static_cast<std::size_t>(size));
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % spec.type.scalar_size() != 0)
    return std::optional<mapped_view>();
  mapped_view out{dense_view(bytes.data(), spec), *std::move(mapped)};
  ZARRPOINT_CHECK(verify_mapped(how, *extent, bytes).at("chunk " + extent->key));
  return std::optional<mapped_view>(std::move(out));
}

}  // namespace detail

inline result<std::optional<mapped_view>> array::view(const read_options& options) const {
  const context& how = options.how != nullptr ? *options.how : state_->how;
  return detail::at_array(detail::map_array(*state_, how, with_digests(options)), *state_);
}

inline result<std::optional<raw_extent>> array::raw(const read_options& options) const {
  const context& how = options.how != nullptr ? *options.how : state_->how;
  return detail::at_array(detail::find_raw(*state_, how, with_digests(options)), *state_);
}

}  // namespace zarrpoint::inline v0

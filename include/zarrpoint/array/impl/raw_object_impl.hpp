// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_class.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/raw_object.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/read/stored_object.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Whether the elements of each inner chunk are neighbours in the array, too: padding comes after
/// all of them.
ZARRPOINT_INLINE bool are_runs(const chunk_grid& grid) {
  std::size_t first = 0;  // the first axis along which a chunk has more than one of them
  while (first < grid.shape.rank() && std::min(grid.shape[first], grid.inner_shape[first]) == 1)
    ++first;
  for (std::size_t d = first + 1; d < grid.shape.rank(); ++d) {
    if (grid.inner_shape[d] != grid.shape[d]) return false;
  }
  return true;
}

ZARRPOINT_INLINE raw_run run_of(const array_state& of, const dims& object, const dims& inner) {
  const chunk_grid& grid = of.layout.grid();
  const std::uint64_t element = of.metadata.type.size();
  const auto word = [](index_t extent) { return static_cast<std::uint64_t>(extent); };
  raw_run out;
  std::uint64_t count = 1;
  for (std::size_t d = 0; d < inner.rank(); ++d) {
    const std::uint64_t extent = word(grid.shape[d]);
    const std::uint64_t start =
        word(object[d]) * word(grid.object_shape[d]) + word(inner[d]) * word(grid.inner_shape[d]);
    out.first = out.first * extent + start;
    count *= std::min(extent - std::min(start, extent), word(grid.inner_shape[d]));
  }
  out.first *= element;
  out.bytes = count * element;
  return out;
}

/// Appends what follows the last run in the object and in the array to it.
ZARRPOINT_INLINE void append_run(std::vector<raw_run>& runs, raw_run&& next) {
  if (!runs.empty()) {
    raw_run& last = runs.back();
    const std::uint64_t stored = last.blocks * last.block_bytes;
    if (last.bytes == stored && next.first == last.first + last.bytes &&
        next.offset == last.offset + stored) {
      last.bytes += next.bytes;
      last.blocks += next.blocks;
      last.crc32c.insert(last.crc32c.end(), next.crc32c.begin(), next.crc32c.end());
      return;
    }
  }
  runs.push_back(std::move(next));
}

ZARRPOINT_INLINE result<std::optional<raw_object>> find_raw(const array_state& of,
                                                            const dims& object, const context& how,
                                                            const read_options& options) {
  using found = std::optional<raw_object>;
  const array_layout& layout = of.layout;
  const tensor_spec spec = of.metadata.spec();
  if (!of.metadata.edges.empty() || box::whole(spec.shape).empty()) return found();
  if (!layout.chain().is_raw() || !layout.is_row_major() || !are_runs(layout.grid()))
    return found();
  ZARRPOINT_CHECK(byte_count(spec));
  ZARRPOINT_CHECK(selection(box{object, dims(object.rank(), 1)}).check(layout.grid().objects()));

  raw_object out{.key = of.chunk_key(object)};
  const std::shared_ptr<scratch_pool> pool = scratch_of(how);
  const scratch_pool::lease scratch = pool->borrow();
  ZARRPOINT_TRY(
      stored,
      stored_object::open(of, out.key, *scratch, {options.expected}).at("chunk " + out.key));
  if (stored == nullptr) return found();
  const object_digest* expected =
      options.expected != nullptr && options.checksums ? options.expected->find(out.key) : nullptr;
  const std::uint64_t size = layout.chain().encoded_bound();
  const dims counts = layout.grid().inner_per_object();
  dims inner(counts.rank(), 0);
  for (std::uint64_t left = layout.inner_count(); left-- != 0;) {
    raw_run run = run_of(of, object, inner);
    if (run.bytes != 0) {
      const std::size_t slot = layout.slot(inner);
      const shard_entry entry = stored->entry(slot);
      if (entry.absent() || entry.size != size) return found();
      run.offset = entry.offset;
      run.block_bytes = size;
      run.blocks = 1;
      if (expected != nullptr) run.crc32c.push_back(expected->crc32c[slot]);
      append_run(out.runs, std::move(run));
    }
    for (std::size_t d = counts.rank(); d-- > 0;) {
      if (++inner[d] < counts[d]) break;
      inner[d] = 0;
    }
  }
  out.object = std::move(stored->bytes);
  return found(std::move(out));
}

}}}  // namespace zarrpoint::v0::detail

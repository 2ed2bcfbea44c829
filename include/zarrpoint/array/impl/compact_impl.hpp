// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/base/scratch_tensor.hpp>
#include <zarrpoint/array/compact.hpp>
#include <zarrpoint/array/hierarchy/store_tree.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/read/stored_object.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/array/shard/shard_index.hpp>
#include <zarrpoint/array/shard/shard_parts.hpp>
#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/parallel_for.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Rewrites one shard without gaps but those of alignment, its inner chunks as they are stored; the
/// new object replaces the old one in one step. The bytes that this frees; 0 when there was nothing
/// to free.
ZARRPOINT_INLINE result<std::uint64_t> compact_shard(const array_state& of, const std::string& key,
                                                     scratch_pool& pool) {
  const scratch_pool::lease scratch = pool.borrow();
  ZARRPOINT_TRY(shard, stored_object::open(of, key, *scratch));
  if (shard == nullptr) return std::uint64_t{0};
  const shard_parts& parts = *of.layout.shard();
  const bool at_start = parts.location == index_location::start;
  const std::uint64_t first = at_start ? (parts.index_size + 63) / 64 * 64 : 0;
  const std::uint32_t alignment = parts.chain.is_raw() ? 1 : write_options().alignment;
  std::uint64_t end = first;
  for (std::size_t i = 0; i < shard->index->size(); ++i) {
    const shard_entry entry = (*shard->index)[i];
    if (entry.absent()) continue;
    ZARRPOINT_TRY(place, shard_place(end, entry.size, alignment));
    end = place + entry.size;
  }
  const std::uint64_t size = at_start ? end : end + parts.index_size;
  if (size >= shard->bytes->size()) return std::uint64_t{0};

  ZARRPOINT_TRY(full_key, of.key.child(key));
  ZARRPOINT_TRY(writer, of.store.create(full_key));
  ZARRPOINT_CHECK(writer->reserve(size));
  ZARRPOINT_TRY(index, shard_index::make(shard->index->size(), scratch->resource()));
  end = first;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const shard_entry entry = (*shard->index)[i];
    if (entry.absent()) continue;
    ZARRPOINT_TRY(bytes, scratch->scratch(stored_slot, entry.size));
    ZARRPOINT_CHECK(shard->bytes->read(entry.offset, bytes));
    ZARRPOINT_TRY(place, shard_place(end, entry.size, alignment));
    ZARRPOINT_CHECK(writer->write(place, bytes));
    index.set(i, {place, entry.size});
    end = place + entry.size;
  }
  const host_view words =
      dense_view(std::as_const(index).words().data(), parts.index_chain.chunk_spec());
  ZARRPOINT_TRY(stored, parts.index_chain.encode(words, *scratch).at("shard index"));
  ZARRPOINT_CHECK(writer->write(at_start ? 0 : end, stored));
  const std::uint64_t before = shard->bytes->size();
  shard->bytes.reset();
  ZARRPOINT_CHECK(writer->finish());
  return before - size;
}

}  // namespace detail

ZARRPOINT_INLINE result<compaction> compact(const array& of) {
  return guarded([&]() -> result<compaction> {
    compaction out;
    if (of.layout().shard() == nullptr) return out;
    if (!of.metadata().edges.empty())
      return error{errc::unsupported, "compact: shards of a rectilinear grid cannot be compacted"};
    const context& how = of.default_context();
    array_metadata metadata = of.metadata();
    const dims shape = metadata.shape;
    const detail::array_state state{of.store(), of.key(), std::move(metadata), of.layout(), how};
    std::vector<std::string> keys;
    ZARRPOINT_CHECK(
        detail::for_each_object(of.store(), of.key(), [&](std::string path) -> result<void> {
          if (state.metadata.keys.parse(path, shape.rank())) keys.push_back(std::move(path));
          return {};
        }));
    const std::shared_ptr<scratch_pool> pool = detail::scratch_of(how);
    std::mutex adding;
    ZARRPOINT_CHECK(parallel_for(
        how.executor, keys.size(),
        [&](std::size_t i) -> result<void> {
          ZARRPOINT_TRY(freed, detail::compact_shard(state, keys[i], *pool).at("chunk " + keys[i]));
          const std::lock_guard lock(adding);
          ++out.shards;
          out.rewritten += freed != 0 ? 1 : 0;
          out.bytes_freed += freed;
          return {};
        },
        {.stop = how.stop}));
    return out;
  });
}

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/chunk_boxes.hpp>
#include <zarrpoint/array/compact.hpp>
#include <zarrpoint/array/hierarchy/store_tree.hpp>
#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/array/read/stored_object.hpp>
#include <zarrpoint/array/resize.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <algorithm>
#include <mutex>

namespace zarrpoint { inline namespace v0 {

// --------------------------------------------------------------------------------- chunk_boxes.hpp

ZARRPOINT_INLINE chunk_boxes::chunk_boxes(const array& of, chunk_level level)
    : shape_(of.metadata().shape), edges_(of.metadata().edges) {
  const chunk_grid& grid = of.layout().grid();
  extents_ = level == chunk_level::inner ? grid.inner_shape : grid.object_shape;
  for (std::size_t d = 0; d < shape_.rank(); ++d) {
    index_t count = ceil_div(shape_[d], extents_[d]);
    if (!edges_.empty()) count = shape_[d] == 0 ? 0 : edges_[d].find(shape_[d] - 1).index + 1;
    counts_.push_back(count);
    size_ = checked_mul(size_, static_cast<std::size_t>(count)).value_or(SIZE_MAX);
  }
}

ZARRPOINT_INLINE box chunk_boxes::operator[](std::size_t i) const {
  dims coordinates(shape_.rank(), 0);
  for (std::size_t d = shape_.rank(); d-- > 0;) {
    coordinates[d] = static_cast<index_t>(i % static_cast<std::size_t>(counts_[d]));
    i /= static_cast<std::size_t>(counts_[d]);
  }
  return box_at(coordinates);
}

ZARRPOINT_INLINE std::optional<box> chunk_boxes::at(const dims& coordinates) const {
  if (coordinates.rank() != shape_.rank()) return std::nullopt;
  for (std::size_t d = 0; d < shape_.rank(); ++d)
    if (coordinates[d] < 0 || coordinates[d] >= counts_[d]) return std::nullopt;
  return box_at(coordinates);
}

ZARRPOINT_INLINE box chunk_boxes::box_at(const dims& coordinates) const {
  box out(coordinates, extents_);
  for (std::size_t d = 0; d < shape_.rank(); ++d) {
    out.offset[d] = coordinates[d] * extents_[d];
    if (!edges_.empty()) {
      const axis_edges::chunk chunk = edges_[d].at(coordinates[d]);
      out.offset[d] = chunk.start;
      out.shape[d] = chunk.extent;
    }
    out.shape[d] = std::min(out.shape[d], shape_[d] - out.offset[d]);
  }
  return out;
}

ZARRPOINT_INLINE chunk_boxes::iterator& chunk_boxes::iterator::operator++() {
  ++at_;
  return *this;
}

ZARRPOINT_INLINE chunk_boxes::iterator chunk_boxes::iterator::operator++(int) {
  iterator before = *this;
  ++at_;
  return before;
}

// ------------------------------------------------------------------------------------- compact.hpp

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

// -------------------------------------------------------------------------------------- resize.hpp

namespace detail {

/// The metadata of `of` with another shape.
ZARRPOINT_INLINE result<array_metadata> metadata_of_shape(const array& of, const dims& shape) {
  array_metadata out = of.metadata();
  if (shape.rank() != out.shape.rank())
    return error{errc::invalid_argument, "an array of shape " + to_string(out.shape) +
                                             " cannot become " + to_string(shape)};
  for (const index_t extent : shape)
    if (extent < 0)
      return error{errc::invalid_argument, "an extent is negative: " + to_string(shape)};
  out.shape = shape;
  for (std::size_t d = 0; d < out.edges.size(); ++d) {
    if (out.edges[d].check(shape[d])) continue;
    // As many more of the last extent as it takes.
    std::vector<chunk_run> runs = out.edges[d].runs();
    const index_t missing = ceil_div(shape[d] - out.edges[d].end(), runs.back().extent);
    ZARRPOINT_TRY(count, checked_add(runs.back().count, missing));
    runs.back().count = count;
    out.edges[d] = axis_edges(std::move(runs));
    ZARRPOINT_CHECK(out.edges[d].check(shape[d]));
  }
  return out;
}

/// Where a chunk of `of` begins along one axis, and how far it reaches.
ZARRPOINT_INLINE std::pair<index_t, index_t> chunk_span(const array& of, std::size_t axis,
                                                        index_t index) {
  const array_metadata& metadata = of.metadata();
  if (metadata.edges.empty())
    return {index * metadata.chunk_shape[axis], metadata.chunk_shape[axis]};
  const axis_edges::chunk chunk = metadata.edges[axis].at(index);
  return {chunk.start, chunk.extent};
}

/// Erases the chunks of `of` that lie wholly beyond its shape; `cut` receives the boxes of those
/// that lie beyond it in part, as far as they are within.
ZARRPOINT_INLINE result<void> erase_beyond(const array& of, std::vector<box>& cut) {
  const array_metadata& metadata = of.metadata();
  const std::size_t rank = metadata.shape.rank();
  return for_each_object(of.store(), of.key(), [&](std::string path) -> result<void> {
    const std::optional<dims> index = metadata.keys.parse(path, rank);
    if (!index) return {};
    box inside(dims(rank, 0), dims(rank, 0));
    bool beyond = false;
    bool partly = false;
    for (std::size_t d = 0; d < rank; ++d) {
      index_t end = 0;
      if (__builtin_mul_overflow((*index)[d], metadata.chunk_shape[d], &end)) return {};
      const auto [start, extent] = chunk_span(of, d, (*index)[d]);
      inside.offset[d] = start;
      inside.shape[d] = std::min(extent, metadata.shape[d] - start);
      beyond = beyond || inside.shape[d] <= 0;
      partly = partly || inside.shape[d] < extent;
    }
    if (beyond) {
      ZARRPOINT_TRY(key, of.key().child(path));
      ZARRPOINT_CHECK(of.store().erase(key));
    } else if (partly) {
      cut.push_back(inside);
    }
    return {};
  });
}

/// Removes what lies beyond the shape of `of`, in chunks and in parts of them.
ZARRPOINT_INLINE result<void> clear_beyond(const array& of) {
  if (!of.store().can_list()) return {};
  std::vector<box> cut;
  ZARRPOINT_CHECK(erase_beyond(of, cut));
  for (const box& part : cut) {
    ZARRPOINT_TRY(kept, of.read(part));
    ZARRPOINT_CHECK(of.write(part, kept.view()));
  }
  return {};
}

ZARRPOINT_INLINE result<void> write_array_documents(const array& of) {
  if (of.metadata().zarr_format == 3) {
    ZARRPOINT_TRY(document, to_v3(of.metadata()));
    return detail::put_node_document(of.store(), of.key(), "zarr.json", document);
  }
  ZARRPOINT_TRY(documents, to_v2(of.metadata()));
  return detail::put_node_document(of.store(), of.key(), ".zarray", documents.document);
}

}  // namespace detail

ZARRPOINT_INLINE result<array> resize(const array& of, const dims& shape) {
  return guarded([&]() -> result<array> {
    const dims before = of.metadata().shape;
    ZARRPOINT_TRY(metadata, detail::metadata_of_shape(of, shape));
    ZARRPOINT_TRY(resized, array::from_metadata(of.store(), of.key(), std::move(metadata),
                                                of.default_context()));
    bool grows = false;
    bool shrinks = false;
    for (std::size_t d = 0; d < shape.rank() && d < before.rank(); ++d) {
      grows = grows || shape[d] > before[d];
      shrinks = shrinks || shape[d] < before[d];
    }
    // What an earlier one left behind would come back to life.
    if (grows) ZARRPOINT_CHECK(detail::clear_beyond(of));
    ZARRPOINT_CHECK(detail::write_array_documents(resized));
    if (shrinks) ZARRPOINT_CHECK(detail::clear_beyond(resized));
    return std::move(resized);
  });
}

ZARRPOINT_INLINE result<array> append(const array& of, std::size_t axis, const host_view& more,
                                      const write_options& options) {
  return guarded([&]() -> result<array> {
    dims shape = of.metadata().shape;
    if (axis >= shape.rank() || more.rank() != shape.rank())
      return error{errc::invalid_argument, "cannot append " + to_string(more.spec()) +
                                               " along axis " + std::to_string(axis) + " of " +
                                               to_string(of.spec())};
    for (std::size_t d = 0; d < shape.rank(); ++d) {
      if (d != axis && more.shape[d] != shape[d])
        return error{errc::shape_mismatch, "cannot append " + to_string(more.spec()) +
                                               " along axis " + std::to_string(axis) + " of " +
                                               to_string(of.spec())};
    }
    box part{dims(shape.rank(), 0), more.shape};
    part.offset[axis] = shape[axis];
    ZARRPOINT_TRY(length, checked_add(shape[axis], more.shape[axis]));
    shape[axis] = length;
    ZARRPOINT_TRY(metadata, detail::metadata_of_shape(of, shape));
    ZARRPOINT_TRY(grown, array::from_metadata(of.store(), of.key(), std::move(metadata),
                                              of.default_context()));
    ZARRPOINT_CHECK(grown.write(part, more, options));
    ZARRPOINT_CHECK(detail::write_array_documents(grown));
    return std::move(grown);
  });
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/array/array_bodies.hpp>
#include <zarrpoint/handler/types/bodies.hpp>
#endif

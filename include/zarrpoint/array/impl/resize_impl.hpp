// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/hierarchy/store_tree.hpp>
#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/array/resize.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// The metadata of `of` with another shape.
ZARRPOINT_INLINE result<array_metadata> metadata_of_shape(const array& of, const dims& shape) {
  array_metadata out = of.metadata();
  if (shape.rank() != out.shape.rank())
    return error{errc::invalid_argument, "an array of shape " + to_string(out.shape) +
                                             " cannot become " + to_string(shape)};
  for (const index_t extent : shape)
    if (extent < 0) return error{errc::invalid_argument, "a negative extent: " + to_string(shape)};
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

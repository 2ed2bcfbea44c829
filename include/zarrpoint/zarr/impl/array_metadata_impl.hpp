// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>
#include <zarrpoint/zarr/chunk_edges.hpp>
#include <zarrpoint/zarr/chunk_key.hpp>
#include <zarrpoint/zarr/fill_value.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE bytes_view array_metadata::fill_element() const noexcept {
  return type.is_variable() ? as_bytes(fill.text()) : fill.bytes();
}

namespace detail {

ZARRPOINT_INLINE result<void> check_array_metadata(const array_metadata& array) {
  const std::size_t rank = array.shape.rank();
  const auto wrong_chunks = [&](std::string why) {
    why.insert(0, "chunk shape " + to_string(array.chunk_shape));
    return error{errc::corrupt, std::move(why)};
  };
  if (!array.type.valid()) return error{errc::corrupt, "the data type is missing"};
  if (array.type.size() == 0 && !array.type.is_variable())
    return error{errc::corrupt, "elements have a size of 0 bytes"};
  if (array.chunk_shape.rank() != rank)
    return wrong_chunks(" must have the same rank as shape " + to_string(array.shape));
  // How many elements there are is not asked: 2^63 and more can be read in parts.
  for (const index_t extent : array.shape) {
    if (extent < 0)
      return error{errc::out_of_range, "negative extent in shape " + to_string(array.shape)};
  }
  for (const index_t extent : array.chunk_shape) {
    if (extent < 1) return wrong_chunks(" has an extent below 1");
  }
  if (!array.edges.empty()) {
    if (array.edges.size() != rank)
      return error{errc::corrupt, "chunk extents for " + std::to_string(array.edges.size()) +
                                      " axes of an array of rank " + std::to_string(rank)};
    for (std::size_t i = 0; i < rank; ++i) {
      ZARRPOINT_CHECK(array.edges[i].check(array.shape[i]).at("axis " + std::to_string(i)));
      if (array.chunk_shape[i] != array.edges[i].largest())
        return wrong_chunks(" must be the largest extent along each axis");
    }
  }
  const std::size_t element_size = std::max<std::size_t>(array.type.size(), 1);
  ZARRPOINT_CHECK(byte_count(array.chunk_shape, element_size));
  if (array.dimension_names && array.dimension_names->size() != rank)
    return error{errc::corrupt, std::to_string(array.dimension_names->size()) +
                                    " dimension names for rank " + std::to_string(rank)};
  if (array.codecs.empty()) return error{errc::corrupt, "the list of codecs is empty"};
  return {};
}

ZARRPOINT_INLINE void mend_empty_chunks(array_metadata& array) {
  if (array.chunk_shape.rank() != array.shape.rank()) return;
  for (std::size_t i = 0; i < array.shape.rank(); ++i) {
    if (array.shape[i] == 0 && array.chunk_shape[i] == 0) array.chunk_shape[i] = 1;
  }
}

}  // namespace detail

}}  // namespace zarrpoint::v0

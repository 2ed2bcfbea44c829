// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/device_read.hpp>
#include <zarrpoint/array/piece_grid.hpp>
#include <zarrpoint/array/scratch_pool.hpp>
#include <zarrpoint/codec/crc32c.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/memory/device_buffer.hpp>
#include <zarrpoint/memory/device_source.hpp>
#include <zarrpoint/memory/stream_guard.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace zarrpoint::inline v0 {

namespace detail {

/// By a kernel, over `bytes` bytes.
template <kernel_space Space>
result<std::uint32_t> crc32c_by_kernel(const tensor_view<Space>& of, std::size_t bytes) {
  std::byte out[sizeof(std::uint32_t)] = {};
  ZARRPOINT_TRY(sum, device_buffer<Space>::allocate(of.space, sizeof out));
  stream_guard<Space> guard(of.space);
  ZARRPOINT_CHECK(of.space.crc32c(sum.data(), of.data, bytes));
  ZARRPOINT_CHECK(of.space.copy_to_host(out, sum.data(), row_block{.width = sizeof out}));
  ZARRPOINT_CHECK(guard.finish());
  return load_le<std::uint32_t>(out);
}

/// By the host, part by part in row-major order.
template <class = void>
result<std::uint32_t> crc32c_by_parts(element_source& of, memory_resource& resource) {
  const tensor_spec& spec = of.spec();
  const std::size_t size = spec.type.size();
  if (size > of.part_bytes()) {
    ZARRPOINT_TRY(all, of.read(box::whole(spec.shape), resource));
    if (is_dense(all.view)) return crc32c(all.memory.bytes());
    return error{errc::resource_limit, "an element is more than a staging slot holds"};
  }
  const piece_grid parts =
      piece_grid::make(box::whole(spec.shape), dims(spec.shape.rank(), 1), size, of.part_bytes());
  std::uint32_t out = 0;
  buffer reordered;
  std::unique_ptr<source_part> next;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::unique_ptr<source_part> part = std::move(next);
    if (part == nullptr) {
      ZARRPOINT_TRY(begun, of.begin(parts.at(i), true));
      part = std::move(begun);
    }
    if (i + 1 < parts.size()) {  // on its way while this one is looked at
      ZARRPOINT_TRY(begun, of.begin(parts.at(i + 1), false));
      next = std::move(begun);
    }
    ZARRPOINT_TRY(view, part->wait());
    ZARRPOINT_TRY(bytes, byte_count(view.spec()));
    const std::byte* data = view.data;
    if (!is_dense(view)) {
      if (reordered.size() < bytes) {
        ZARRPOINT_TRY(made, buffer::allocate(bytes, resource));
        reordered = std::move(made);
      }
      copy_elements(dense_view(reordered.data(), view.spec()), view);
      data = reordered.data();
    }
    out = crc32c({data, bytes}, out);
  }
  return out;
}

}  // namespace detail

/// The CRC-32C of a device tensor's elements, as they would lie in row-major order: what the
/// commit document has for an inner chunk that is stored raw and holds the same elements. By the
/// device where it has kernels and the elements lie so, else by way of pinned host memory.
/// Errors: those of `device_source`, `resource_limit`.
template <device_space Space>
result<std::uint32_t> device_crc32c(const tensor_view<Space>& of, const context& given = {}) {
  const context how = with_scratch(given);
  ZARRPOINT_TRY(source, device_source<Space>::make(of, ring_of(how, of.space)));
  if constexpr (kernel_space<Space>) {
    ZARRPOINT_TRY(bytes, byte_count(of.spec()));
    if (bytes != 0 && of.space.has_kernels() && is_dense(of))
      return detail::crc32c_by_kernel(of, bytes);
  }
  return detail::crc32c_by_parts(*source, how.scratch->resource());
}

}  // namespace zarrpoint::inline v0

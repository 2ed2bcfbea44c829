// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/device/device_crc32c.hpp>
#include <zarrpoint/array/device/device_read.hpp>
#include <zarrpoint/array/grid/piece_grid.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/memory/device/device_buffer.hpp>
#include <zarrpoint/memory/device/device_source.hpp>
#include <zarrpoint/memory/device/stream_guard.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<std::uint32_t> crc32c_by_parts(element_source& of,
                                                       memory_resource& resource) {
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

}}}  // namespace zarrpoint::v0::detail

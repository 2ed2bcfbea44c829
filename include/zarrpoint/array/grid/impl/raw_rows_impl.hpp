// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/grid/raw_rows.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE std::optional<raw_rows> raw_rows::of(const selection& part,
                                                      const dims& chunk_shape,
                                                      const mutable_host_view& into) {
  const std::size_t element = into.type.size();
  const dims strides = row_major_strides(chunk_shape, element);
  raw_rows out{};
  out.run_bytes = element;
  std::size_t d = part.rank();
  bool whole_so_far = true;
  while (d > 0 && whole_so_far) {
    const std::size_t i = d - 1;
    const index_t count = part.shape[i];
    if (count != 1) {
      if (part.step[i] != 1 || into.strides[i] != static_cast<index_t>(out.run_bytes)) break;
    }
    out.run_bytes *= static_cast<std::size_t>(count);
    whole_so_far = count == chunk_shape[i];
    --d;
  }
  if (d == part.rank() && part.rank() != 0) return std::nullopt;
  out.outer_rank = d;
  for (std::size_t i = 0; i < part.rank(); ++i) {
    out.first += static_cast<std::uint64_t>(part.offset[i] * strides[i]);
    if (i >= d) continue;
    out.outer_shape.push_back(part.shape[i]);
    out.stored_strides.push_back(part.shape[i] == 1 ? 0 : strides[i] * part.step[i]);
    out.memory_strides.push_back(into.strides[i]);
  }
  return out;
}

ZARRPOINT_INLINE std::size_t raw_rows::count() const noexcept {
  std::size_t n = 1;
  for (const index_t extent : outer_shape) n *= static_cast<std::size_t>(extent);
  return n;
}

}}}  // namespace zarrpoint::v0::detail

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/device/device_read.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/memory/device/device_source.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

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
result<std::uint32_t> crc32c_by_parts(element_source& of, memory_resource& resource);

/// The CRC-32C of a device tensor's elements, as they would lie in row-major order. It is what the
/// commit document has for an inner chunk that is stored raw and holds the same elements. By the
/// device where it has kernels and the elements lie so, else by way of pinned host memory. Errors:
/// those of `device_source`, `resource_limit`.
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

}}}  // namespace zarrpoint::v0::detail

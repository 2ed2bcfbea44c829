// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/device/device_space.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// How the elements of a strided tensor on a device are packed on the host by as few copies of rows
/// as their memory allows. They are without gaps, in the order in which they lie on the device,
/// whatever the order of their dimensions. Elements that stride 0 repeats are packed once.
struct packed_rows {
  std::size_t bytes = 0;  ///< of the packed elements
  index_t low = 0;        ///< first byte on the device, counted from element (0, ..., 0)
  std::size_t cover = 0;  ///< bytes from there to the end of the last element
  index_t first = 0;      ///< of element (0, ..., 0) in the packed memory
  dims strides;           ///< of the elements in the packed memory
  row_block rows;         ///< one copy
  dims outer;             ///< how often, along each of the other axes of the memory
  dims outer_device;      ///< bytes from one copy to the next along them
  dims outer_host;

  /// Copies of `rows`.
  std::size_t copies() const noexcept;
  /// Whether it is one run of bytes.
  bool is_run() const noexcept { return rows.count == 1 && outer.rank() == 0; }

  /// `shape` has passed `byte_count`; `strides` are in bytes, of either sign.
  static packed_rows of(const dims& shape, const dims& strides, std::size_t element);

  /// Calls `f(offset on the device counted from `low`, offset in the packed memory)` for each copy.
  template <class F>
  result<void> for_each_copy(F&& f) const {
    if (bytes == 0) return {};
    dims at(outer.rank(), 0);
    for (;;) {
      index_t device = 0;
      index_t host = 0;
      for (std::size_t i = 0; i < outer.rank(); ++i) {
        device += at[i] * outer_device[i];
        host += at[i] * outer_host[i];
      }
      ZARRPOINT_CHECK(f(device, host));
      std::size_t i = outer.rank();
      while (i > 0 && ++at[i - 1] == outer[i - 1]) at[--i] = 0;
      if (i == 0) return {};
    }
  }
};

}}}  // namespace zarrpoint::v0::detail

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/memory/device/device_space.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What the kernels of a device do to decode Blosc frames.
struct frame_work {
  std::vector<device_literals> literals;
  std::vector<device_planes> planes;
  std::vector<device_checksum> checksums;  ///< without marks
  std::size_t most_bytes = 0;              ///< that one of `planes` makes
  std::size_t room_left = SIZE_MAX;        ///< bytes that there still are for more of them

  /// Whether one more was put behind the others: not where there is no room for it.
  template <class T>
  bool add(std::vector<T>& to, const T& one) {
    if (room_left < sizeof one) return false;
    room_left -= sizeof one;
    to.push_back(one);
    return true;
  }
};

/// Where a frame is on a device: addresses, all aligned to 16.
struct frame_place {
  std::uint64_t frame = 0;                ///< its stored bytes, and four more behind them
  std::uint64_t room = 0;                 ///< scratch memory of `bytes`, for planes
  std::uint64_t to = 0;                   ///< the elements
  std::size_t bytes = 0;                  ///< of all elements
  std::optional<std::uint32_t> crc32c{};  ///< of its stored bytes, for a kernel to compare
};

/// Adds what it takes to decode a frame. Its literals come first, then its planes. All that a
/// kernel reads is checked to lie within the frame, whose bytes may be anything; streams are not
/// read here. False, and nothing is added, where kernels cannot do it. That is so for codecs but
/// zstd, blocks with matches, a shuffle of bits, elements of more than 8 bytes. So it is for frames
/// that are damaged, or not of `bytes`, and where there is no room left.
bool plan_blosc_frame(bytes_view frame, const frame_place& at, frame_work& out);

}}}  // namespace zarrpoint::v0::detail

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/lz_cursor.hpp>
#include <zarrpoint/codec/kit/snappy.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<std::size_t> snappy_decode(bytes_view from, mutable_bytes to) {
  enum tag : unsigned { literal, near, middle, far };
  lz_cursor cursor(from, to);
  std::uint64_t expected = 0;
  for (unsigned shift = 0, byte = 128; byte >= 128; shift += 7) {
    if (cursor.left() == 0) return cursor.finish(lz_status::truncated);
    byte = cursor.take();
    expected |= std::uint64_t{byte & 127} << shift;
    if (shift == 28 && byte > 15) return error{errc::corrupt, "the length does not fit in 32 bits"};
  }
  if (expected > to.size()) return cursor.finish(lz_status::no_room);
  while (cursor.left() != 0) {
    const unsigned head = cursor.take();
    const unsigned kind = head & 3;
    std::size_t length = (head >> 2) + 1;
    lz_status status = lz_status::ok;
    if (kind == tag::literal) {
      if (length > 60) {  // the length less 1 stands in the next 1 to 4 bytes
        const std::size_t bytes = length - 60;
        if (cursor.left() < bytes) return cursor.finish(lz_status::truncated);
        length = 1;
        for (std::size_t i = 0; i < bytes; ++i) length += std::size_t{cursor.take()} << 8 * i;
      }
      status = cursor.literals(length);
    } else {
      const std::size_t bytes = kind == tag::far ? 4 : kind;
      if (cursor.left() < bytes) return cursor.finish(lz_status::truncated);
      std::size_t distance = 0;
      for (std::size_t i = 0; i < bytes; ++i) distance += std::size_t{cursor.take()} << 8 * i;
      if (kind == tag::near) {  // 4 to 11 bytes; 3 more bits of the distance
        distance |= std::size_t{head >> 5} << 8;
        length = (head >> 2 & 7) + 4;
      }
      status = cursor.match(distance, length);
    }
    if (status != lz_status::ok) return cursor.finish(status);
  }
  if (cursor.done() != expected)
    return error{errc::corrupt, std::to_string(cursor.done()) + " bytes decoded, " +
                                    std::to_string(expected) + " announced"};
  return cursor.finish(lz_status::ok);
}

}}}  // namespace zarrpoint::v0::detail

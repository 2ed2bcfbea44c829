// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/blosclz.hpp>
#include <zarrpoint/codec/kit/lz_cursor.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstddef>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE result<std::size_t> blosclz_decode(bytes_view from, mutable_bytes to) {
  constexpr std::size_t long_length = 6;
  constexpr std::size_t far = 8191;  // the largest distance of 13 bits; beyond it 16 more
  lz_cursor cursor(from, to);
  bool first = true;  // whose upper bits tell the level of the encoder
  while (cursor.left() != 0) {
    const unsigned control = first ? cursor.take() & 31 : cursor.take();
    first = false;
    lz_status status = lz_status::ok;
    if (control < 32) {
      status = cursor.literals(control + 1);
    } else {
      std::size_t length = (control >> 5) - 1;
      if (length == long_length && !cursor.extend(length))
        return cursor.finish(lz_status::truncated);
      if (cursor.left() == 0) return cursor.finish(lz_status::truncated);
      std::size_t distance = (control & 31) << 8 | cursor.take();
      if (distance == far) {
        if (cursor.left() < 2) return cursor.finish(lz_status::truncated);
        distance += cursor.take() << 8;
        distance += cursor.take();
      }
      status = cursor.match(distance + 1, length + 3);
    }
    if (status != lz_status::ok) return cursor.finish(status);
  }
  return cursor.finish(first ? lz_status::truncated : lz_status::ok);
}

}}}  // namespace zarrpoint::v0::detail

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/lz_cursor.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE lz_cursor::lz_cursor(bytes_view from, mutable_bytes to)
    : at_(from.data()), left_(from.size()), to_(to.data()), room_(to.size()) {}

ZARRPOINT_INLINE unsigned lz_cursor::take() noexcept {
  --left_;
  return std::to_integer<unsigned>(*at_++);
}

ZARRPOINT_INLINE unsigned lz_cursor::take_u16() noexcept {
  const unsigned value = load_le<std::uint16_t>(at_);
  at_ += 2;
  left_ -= 2;
  return value;
}

ZARRPOINT_INLINE bool lz_cursor::extend(std::size_t& length) noexcept {
  unsigned more = 255;
  while (more == 255) {
    if (left_ == 0) return false;
    length += more = take();
  }
  return true;
}

ZARRPOINT_INLINE lz_status lz_cursor::literals(std::size_t length) noexcept {
  if (length > left_) return lz_status::truncated;
  if (length > room()) return lz_status::no_room;
  if (length <= step && left_ >= step && room() >= step) {
    std::memcpy(to_ + done_, at_, step);  // what is too much will be overwritten
  } else if (length != 0) {
    std::memcpy(to_ + done_, at_, length);
  }
  at_ += length;
  left_ -= length;
  done_ += length;
  return lz_status::ok;
}

ZARRPOINT_INLINE lz_status lz_cursor::match(std::size_t distance, std::size_t length) noexcept {
  if (distance == 0 || distance > done_) return lz_status::bad_distance;
  if (length > room()) return lz_status::no_room;
  std::byte* const to = to_ + done_;
  const std::byte* const from = to - distance;
  if (distance >= step && room() - length >= step) {
    for (std::size_t i = 0; i < length; i += step) std::memcpy(to + i, from + i, step);
  } else {
    // Each copy doubles what repeats, so that its ends never overlap.
    for (std::size_t made = 0; made < length;) {
      const std::size_t n = std::min(distance + made, length - made);
      std::memcpy(to + made, from, n);
      made += n;
    }
  }
  done_ += length;
  return lz_status::ok;
}

ZARRPOINT_INLINE result<std::size_t> lz_cursor::finish(lz_status status) const {
  switch (status) {
    case lz_status::ok: return done_;
    case lz_status::truncated: return error{errc::corrupt, "stream truncated"};
    case lz_status::bad_distance:
      return error{errc::corrupt, "a match refers to bytes before the start"};
    case lz_status::no_room: break;
  }
  return error{errc::out_of_range, "more than the " + std::to_string(room_) + " bytes expected"};
}

}}}  // namespace zarrpoint::v0::detail

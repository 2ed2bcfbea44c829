// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace zarrpoint::inline v0::detail {

/// How a step of a decoder of the LZ77 family went; cheaper than a `result` for each few bytes.
enum class lz_status : std::uint8_t { ok, truncated, bad_distance, no_room };

/// Where such a decoder reads and writes: literals and matches, each checked against both ends.
class lz_cursor {
 public:
  lz_cursor(bytes_view from, mutable_bytes to)
      : at_(from.data()), left_(from.size()), to_(to.data()), room_(to.size()) {}

  std::size_t left() const noexcept { return left_; }
  std::size_t done() const noexcept { return done_; }
  std::size_t room() const noexcept { return room_ - done_; }

  /// The next byte of the input, of which there is one.
  unsigned take() noexcept {
    --left_;
    return std::to_integer<unsigned>(*at_++);
  }
  /// The next two, little-endian, of which there are two.
  unsigned take_u16() noexcept {
    const unsigned value = load_le<std::uint16_t>(at_);
    at_ += 2;
    left_ -= 2;
    return value;
  }
  /// Adds bytes of the input to `length`, up to and including the first that is not 255.
  bool extend(std::size_t& length) noexcept {
    unsigned more = 255;
    while (more == 255) {
      if (left_ == 0) return false;
      length += more = take();
    }
    return true;
  }

  /// Copies `length` bytes of the input.
  lz_status literals(std::size_t length) noexcept {
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

  /// Repeats `length` bytes from `distance` before the end of the output; they may overlap.
  lz_status match(std::size_t distance, std::size_t length) noexcept {
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

  /// What a decoder returns that ended with `status`.
  result<std::size_t> finish(lz_status status) const {
    switch (status) {
      case lz_status::ok: return done_;
      case lz_status::truncated: return error{errc::corrupt, "stream truncated"};
      case lz_status::bad_distance:
        return error{errc::corrupt, "a match from before the beginning"};
      case lz_status::no_room: break;
    }
    return error{errc::out_of_range, "more than the " + std::to_string(room_) + " bytes expected"};
  }

 private:
  static constexpr std::size_t step = 16;  ///< one register: what most copies need

  const std::byte* at_;
  std::size_t left_;
  std::byte* to_;
  std::size_t room_;
  std::size_t done_ = 0;
};

}  // namespace zarrpoint::inline v0::detail

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/library_memory.hpp>
#include <zarrpoint/codec/kit/lz_blocks.hpp>
#include <zarrpoint/core/config.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

// ------------------------------------------------------------------------------ library_memory.hpp

ZARRPOINT_INLINE void* library_memory::allocate(void* self, std::size_t bytes) {
  auto& own = *static_cast<library_memory*>(self);
  void* memory = nullptr;
  const std::size_t whole = bytes + header;
  if (whole > bytes) memory = own.resource_->allocate(whole, header);
  if (memory == nullptr) {
    own.refused_ = bytes;
    return nullptr;
  }
  std::memcpy(memory, &whole, sizeof whole);
  return static_cast<std::byte*>(memory) + header;
}

ZARRPOINT_INLINE void library_memory::deallocate(void* self, void* address) {
  if (address == nullptr) return;
  std::byte* const memory = static_cast<std::byte*>(address) - header;
  std::size_t whole = 0;
  std::memcpy(&whole, memory, sizeof whole);
  static_cast<library_memory*>(self)->resource_->deallocate(memory, whole, header);
}

ZARRPOINT_INLINE error library_memory::no_memory(std::string_view what) const {
  return cannot_allocate(refused_, *resource_, what);
}

// ----------------------------------------------------------------------------------- lz_blocks.hpp

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

/// The shortest match, and the most that is told without more bytes of length.
inline constexpr std::size_t lz4_min_match = 4;

inline constexpr std::size_t lz4_short_length = 15;

/// Where a sequence of four bytes was last seen; one for each worker.
class lz4_table {
 public:
  static constexpr unsigned bits = 13;  // 32 KiB: stays in the first cache
  static constexpr std::size_t bytes = sizeof(std::uint32_t) << bits;

  explicit lz4_table(memory_resource& from) : resource_(&from) {}

  /// All entries zero. Errors: `resource_limit`.
  result<std::uint32_t*> clear() {
    if (memory_.empty()) {
      ZARRPOINT_TRY(made, buffer::allocate(bytes, *resource_));
      memory_ = std::move(made);
    }
    std::memset(memory_.data(), 0, bytes);
    return reinterpret_cast<std::uint32_t*>(memory_.data());
  }

 private:
  memory_resource* resource_;
  buffer memory_;
};

/// Writes the sequences of a block; greedy: every match that is found is taken.
class lz4_writer {
 public:
  lz4_writer(bytes_view from, mutable_bytes to, std::uint32_t* table)
      : from_(from), to_(to), table_(table) {}

  /// The bytes written, or nothing when they do not fit.
  std::optional<std::size_t> run() {
    // The format: the last match begins 12 bytes before the end or earlier, the last 5 are literal.
    if (from_.size() > match_limit) {
      const std::size_t last_start = from_.size() - match_limit;
      std::size_t at = 1;
      std::size_t misses = 0;
      while (at <= last_start) {
        const std::size_t candidate = exchange(at);
        if (at - candidate > max_distance || word_at(candidate) != word_at(at)) {
          at += 1 + (misses++ >> skip_after);  // faster and faster through what does not repeat
          continue;
        }
        misses = 0;
        std::size_t start = at;
        std::size_t source = candidate;
        while (start > anchor_ && source > 0 && from_[start - 1] == from_[source - 1]) {
          --start;
          --source;
        }
        const std::size_t length = common(source, start);
        if (!put(start, start - source, length)) return std::nullopt;
        at = anchor_;
        if (at <= last_start) exchange(at - 2);  // what follows a match often begins within it
      }
    }
    if (!put(from_.size(), 0, 0)) return std::nullopt;
    return done_;
  }

 private:
  static constexpr std::size_t match_limit = 12;
  static constexpr std::size_t last_literals = 5;
  static constexpr std::size_t max_distance = 65535;
  static constexpr unsigned skip_after = 6;

  std::uint32_t word_at(std::size_t i) const { return load_le<std::uint32_t>(from_.data() + i); }

  /// Notes position `at` and returns where its bytes were seen last; 0 stands for never, too: the
  /// bytes there are compared in any case.
  std::size_t exchange(std::size_t at) {
    constexpr std::uint64_t prime = 889523592379;  // of five bytes: fewer false hits than of four
    const auto five = load_le<std::uint64_t>(from_.data() + at) << 24;
    std::uint32_t& entry = table_[five * prime >> (64 - lz4_table::bits)];
    return std::exchange(entry, static_cast<std::uint32_t>(at));
  }

  /// How many bytes from `a` and `b` on are the same, up to where literals must follow.
  std::size_t common(std::size_t a, std::size_t b) const {
    const std::size_t end = from_.size() - last_literals;
    const std::size_t begin = b;
    for (; b + 8 <= end; a += 8, b += 8) {
      const std::uint64_t difference =
          load_le<std::uint64_t>(from_.data() + a) ^ load_le<std::uint64_t>(from_.data() + b);
      if (difference != 0)
        return b - begin + static_cast<std::size_t>(std::countr_zero(difference)) / 8;
    }
    while (b < end && from_[a] == from_[b]) ++a, ++b;
    return b - begin;
  }

  void put_length(std::size_t length) {
    if (length < lz4_short_length) return;
    length -= lz4_short_length;
    for (; length >= 255; length -= 255) to_[done_++] = std::byte{255};
    to_[done_++] = static_cast<std::byte>(length);
  }

  /// The literals from `anchor_` to `start`, and a match; a length of 0 ends the block.
  bool put(std::size_t start, std::size_t distance, std::size_t length) {
    const std::size_t literals = start - anchor_;
    const std::size_t rest = length == 0 ? 0 : length - lz4_min_match;
    if (to_.size() - done_ < literals + literals / 255 + rest / 255 + 5) {
      // Exact only where it matters: a token, literals, a distance and the bytes of both lengths.
      const auto more = [](std::size_t n) {
        return n < lz4_short_length ? 0 : (n - lz4_short_length) / 255 + 1;
      };
      const std::size_t match = length == 0 ? 0 : 2 + more(rest);
      if (to_.size() - done_ < 1 + literals + more(literals) + match) return false;
    }
    to_[done_++] = static_cast<std::byte>(std::min(literals, lz4_short_length) << 4 |
                                          std::min(rest, lz4_short_length));
    put_length(literals);
    if (literals != 0) std::memcpy(to_.data() + done_, from_.data() + anchor_, literals);
    done_ += literals;
    anchor_ = start + length;
    if (length == 0) return true;
    store_le<std::uint16_t>(to_.data() + done_, static_cast<std::uint16_t>(distance));
    done_ += 2;
    put_length(rest);
    return true;
  }

  bytes_view from_;
  mutable_bytes to_;
  std::uint32_t* table_;
  std::size_t anchor_ = 0;  ///< what lies before is written
  std::size_t done_ = 0;
};

ZARRPOINT_INLINE result<std::size_t> lz4_encode(bytes_view from, mutable_bytes to,
                                                codec_workspace& scratch) {
  constexpr std::size_t max_input = 0x7e000000;
  if (from.size() > max_input)
    return error{errc::invalid_argument,
                 std::to_string(from.size()) + " bytes are too many for an LZ4 block"};
  ZARRPOINT_TRY(table, scratch.state<detail::lz4_table>().clear());
  if (const auto written = detail::lz4_writer(from, to, table).run()) return *written;
  return error{errc::out_of_range, "the output does not fit"};
}

ZARRPOINT_INLINE result<std::size_t> lz4_decode(bytes_view from, mutable_bytes to) {
  using detail::lz_status;
  detail::lz_cursor cursor(from, to);
  while (true) {
    if (cursor.left() == 0) return cursor.finish(lz_status::truncated);
    const unsigned token = cursor.take();
    std::size_t literals = token >> 4;
    if (literals == detail::lz4_short_length && !cursor.extend(literals))
      return cursor.finish(lz_status::truncated);
    if (const lz_status status = cursor.literals(literals); status != lz_status::ok)
      return cursor.finish(status);
    if (cursor.left() == 0) return cursor.finish(lz_status::ok);  // the last one has no match
    if (cursor.left() < 2) return cursor.finish(lz_status::truncated);
    const unsigned distance = cursor.take_u16();
    std::size_t length = token & 15;
    if (length == detail::lz4_short_length && !cursor.extend(length))
      return cursor.finish(lz_status::truncated);
    if (const lz_status status = cursor.match(distance, length + detail::lz4_min_match);
        status != lz_status::ok)
      return cursor.finish(status);
  }
}

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
    case lz_status::truncated: return error{errc::corrupt, "the stream is truncated"};
    case lz_status::bad_distance:
      return error{errc::corrupt, "a match refers to bytes before the start"};
    case lz_status::no_room: break;
  }
  return error{errc::out_of_range, "more than the " + std::to_string(room_) + " bytes expected"};
}

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
    return error{errc::corrupt, "it decodes to " + std::to_string(cursor.done()) +
                                    " bytes, not to the " + std::to_string(expected) +
                                    " that it announces"};
  return cursor.finish(lz_status::ok);
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/base/bodies.hpp>
#endif

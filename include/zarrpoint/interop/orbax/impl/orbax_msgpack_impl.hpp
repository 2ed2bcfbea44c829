// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/utf8.hpp>
#include <zarrpoint/interop/orbax/orbax_msgpack.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

ZARRPOINT_INLINE result<void> msgpack_input::skip(std::uint64_t size) {
  if (size > left()) return error{errc::corrupt, "a value is longer than what is left"};
  at_ += size;
  return {};
}

/// An unsigned number of `size` bytes, the highest first.
ZARRPOINT_INLINE result<std::uint64_t> msgpack_input::number(std::size_t size) {
  if (size > left()) return error{errc::corrupt, "it ends within a value"};
  if (at_ < window_at_ || at_ + size > window_at_ + window_size_) {
    window_at_ = at_;
    window_size_ =
        static_cast<std::size_t>(std::min<std::uint64_t>(window_.size(), file_.size() - at_));
    ZARRPOINT_CHECK(file_.read(at_, mutable_bytes(window_).first(window_size_)));
  }
  std::uint64_t out = 0;
  for (const std::byte each :
       std::span(window_).subspan(static_cast<std::size_t>(at_ - window_at_), size))
    out = out << 8 | std::to_integer<std::uint64_t>(each);
  at_ += size;
  return out;
}

ZARRPOINT_INLINE result<msgpack_head> msgpack_input::sized(msgpack_kind kind, std::size_t width) {
  ZARRPOINT_TRY(size, number(width));
  return msgpack_head{kind, size};
}

ZARRPOINT_INLINE result<msgpack_head> msgpack_input::extended(std::uint64_t size) {
  ZARRPOINT_TRY(code, number(1));
  return msgpack_head{msgpack_kind::extension, size, static_cast<std::int8_t>(code)};
}

/// Of two's complement.
ZARRPOINT_INLINE msgpack_head msgpack_signed(std::uint64_t bits, std::size_t width) {
  const unsigned unused = 64 - 8 * static_cast<unsigned>(width);
  const auto value = static_cast<std::int64_t>(bits << unused) >> unused;
  return {value < 0 ? msgpack_kind::negative : msgpack_kind::integer,
          static_cast<std::uint64_t>(value)};
}

ZARRPOINT_INLINE result<msgpack_head> msgpack_input::head() {
  ZARRPOINT_TRY(mark, number(1));
  if (mark < 0x80) return msgpack_head{msgpack_kind::integer, mark};
  if (mark < 0x90) return msgpack_head{msgpack_kind::map, mark & 15U};
  if (mark < 0xa0) return msgpack_head{msgpack_kind::array, mark & 15U};
  if (mark < 0xc0) return msgpack_head{msgpack_kind::text, mark & 31U};
  if (mark >= 0xe0) return msgpack_signed(mark, 1);
  return marked(mark);
}

/// With a mark from 0xc0 to 0xdf, in whose runs the width doubles each time.
ZARRPOINT_INLINE result<msgpack_head> msgpack_input::marked(std::uint64_t mark) {
  const auto in = [&](unsigned first, unsigned last) { return mark >= first && mark <= last; };
  const auto width = [&](unsigned first, std::size_t least) {
    return least << static_cast<unsigned>(mark - first);
  };
  if (mark == 0xc0) return msgpack_head{msgpack_kind::nil};
  if (in(0xc2, 0xc3)) return msgpack_head{msgpack_kind::boolean, mark & 1U};
  if (in(0xc4, 0xc6)) return sized(msgpack_kind::binary, width(0xc4, 1));
  if (in(0xc7, 0xc9)) {
    ZARRPOINT_TRY(size, number(width(0xc7, 1)));
    return extended(size);
  }
  if (mark == 0xca) {
    ZARRPOINT_TRY(bits, number(4));
    const auto narrow = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    return msgpack_head{msgpack_kind::real, std::bit_cast<std::uint64_t>(double{narrow})};
  }
  if (mark == 0xcb) return sized(msgpack_kind::real, 8);
  if (in(0xcc, 0xcf)) return sized(msgpack_kind::integer, width(0xcc, 1));
  if (in(0xd0, 0xd3)) {
    ZARRPOINT_TRY(bits, number(width(0xd0, 1)));
    return msgpack_signed(bits, width(0xd0, 1));
  }
  if (in(0xd4, 0xd8)) return extended(width(0xd4, 1));
  if (in(0xd9, 0xdb)) return sized(msgpack_kind::text, width(0xd9, 1));
  if (in(0xdc, 0xdd)) return sized(msgpack_kind::array, width(0xdc, 2));
  if (in(0xde, 0xdf)) return sized(msgpack_kind::map, width(0xde, 2));
  return error{errc::corrupt, "a byte that begins no value"};
}

ZARRPOINT_INLINE result<void> msgpack_input::check_room(std::uint64_t bytes) const {
  if (used_ <= most_bytes && bytes <= most_bytes - used_) return {};
  return error{errc::resource_limit,
               "its names and texts take more than " + std::to_string(most_bytes) + " bytes"};
}

ZARRPOINT_INLINE result<void> msgpack_input::count(std::uint64_t bytes) {
  ZARRPOINT_CHECK(check_room(bytes));
  used_ += bytes;
  return {};
}

ZARRPOINT_INLINE result<std::string> msgpack_input::bytes(std::uint64_t size) {
  if (size > left()) return error{errc::corrupt, "a text is longer than what is left"};
  ZARRPOINT_CHECK(count(size));
  std::string out(static_cast<std::size_t>(size), '\0');
  ZARRPOINT_CHECK(file_.read(at_, std::as_writable_bytes(std::span<char>(out))));
  at_ += size;
  return out;
}

ZARRPOINT_INLINE result<std::string> msgpack_input::text(std::uint64_t size) {
  ZARRPOINT_TRY(out, bytes(size));
  if (!is_utf8(out)) return error{errc::corrupt, "a text that is not UTF-8"};
  return std::move(out);
}

ZARRPOINT_INLINE result<std::string> msgpack_input::short_text(std::size_t most) {
  ZARRPOINT_TRY(from, head());
  if (from.kind != msgpack_kind::text) return error{errc::unsupported, "a key that is not a text"};
  if (from.number > most)
    return error{errc::unsupported, "a key of more than " + std::to_string(most) + " bytes"};
  return text(from.number);
}

ZARRPOINT_INLINE result<std::uint64_t> msgpack_input::enter(std::uint64_t size) {
  if (size > left()) return error{errc::corrupt, "an extension is longer than what is left"};
  return std::exchange(end_, at_ + size);
}

ZARRPOINT_INLINE result<void> msgpack_input::leave(std::uint64_t outer) {
  if (at_ != end_) return error{errc::corrupt, "an extension is longer than its value"};
  end_ = outer;
  return {};
}

}}}}  // namespace zarrpoint::v0::orbax::detail

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

/// What a value of msgpack is.
enum class msgpack_kind : std::uint8_t {
  nil,
  boolean,
  integer,   ///< not negative
  negative,  ///< an integer below 0
  real,
  text,
  binary,
  array,
  map,
  extension,
};

/// How a value of msgpack begins.
struct msgpack_head {
  msgpack_kind kind = msgpack_kind::nil;
  /// The bytes, elements or pairs that follow; the number itself, of a real its bits.
  std::uint64_t number = 0;
  std::int8_t extension = 0;  ///< its type
};

/// A file of msgpack, read from its begin ("MessagePack specification"). Errors of all members:
/// `corrupt` for what ends too early or is not msgpack; `resource_limit` for more than `most_bytes`
/// of what is kept; those of the file.
class msgpack_input {
 public:
  explicit msgpack_input(const blob& file) : file_(file), end_(file.size()) {}

  std::uint64_t at() const { return at_; }
  std::uint64_t left() const { return end_ - at_; }

  result<msgpack_head> head();
  result<void> skip(std::uint64_t size);
  /// As they are; `text` only UTF-8.
  result<std::string> bytes(std::uint64_t size);
  result<std::string> text(std::uint64_t size);
  /// A whole value that is a text of at most `most`.
  result<std::string> short_text(std::size_t most);

  /// Counts what the caller keeps.
  result<void> count(std::uint64_t bytes);
  /// Whether so much more may be counted.
  result<void> check_room(std::uint64_t bytes) const;

  /// Lets `inner` read the next `size` bytes as a value of their own, which it must use up.
  template <class F>
  result<void> within(std::uint64_t size, F&& inner) {
    ZARRPOINT_TRY(outer, enter(size));
    ZARRPOINT_CHECK(inner());
    return leave(outer);
  }

 private:
  static constexpr std::uint64_t most_bytes = std::uint64_t{128} << 20;

  result<std::uint64_t> number(std::size_t size);
  result<msgpack_head> sized(msgpack_kind kind, std::size_t width);
  result<msgpack_head> extended(std::uint64_t size);
  result<msgpack_head> marked(std::uint64_t mark);
  result<std::uint64_t> enter(std::uint64_t size);
  result<void> leave(std::uint64_t outer);

  const blob& file_;
  std::uint64_t at_ = 0;
  std::uint64_t end_;  ///< of the value that is read
  std::uint64_t used_ = 0;
  std::uint64_t window_at_ = 0;
  std::size_t window_size_ = 0;
  std::array<std::byte, 4096> window_{};
};

}}}}  // namespace zarrpoint::v0::orbax::detail

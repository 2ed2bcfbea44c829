// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/zarr/json_builder.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace zarrpoint::inline v0 {

namespace detail {

class json_reader;

/// A member of a document that somebody else reads, from its text, while the document is parsed: in
/// place of its value stands null. Where the document had to be parsed in the slow way it is like
/// every other member, and was not `found`.
class json_member {
 public:
  /// `path` are the keys that lead to it from the root.
  explicit json_member(std::span<const std::string_view> path) noexcept : path_(path) {}
  json_member(const json_member&) = delete;
  json_member& operator=(const json_member&) = delete;
  virtual ~json_member() = default;

  bool found() const noexcept { return found_; }

 protected:
  /// Reads the value; false to give up, and have it all parsed in the slow way.
  virtual bool read(json_reader& from) = 0;

 private:
  friend class json_reader;
  std::span<const std::string_view> path_;
  bool found_ = false;
};

/// Reads plain JSON fast: nearly every document that there is. It gives up, without a reason, on
/// all that is not JSON or above a limit, and on what is rare (`\u` and `\/`, NaN): `parse_json`
/// then asks the parser that has the errors. What it does read, that parser reads the same way.
class json_reader {
 public:
  json_reader(std::string_view text, const json_limits& limits, json_member* wanted = nullptr);

  /// The whole of the document. False when it gave up; `out` is unspecified then.
  bool read(node& out);

  // For those who read a member. They count values, and levels of nesting, themselves.

  /// What is left of the text.
  std::string_view rest() const noexcept { return {at_, static_cast<std::size_t>(end_ - at_)}; }
  /// Goes past `text` if it comes next.
  bool take_text(std::string_view text) noexcept;
  std::size_t values_left() const noexcept { return values_left_; }
  bool count_values(std::size_t values) noexcept;
  bool descend(std::size_t levels) noexcept;
  void ascend(std::size_t levels) noexcept { levels_left_ += levels; }
  bool read_value(node& out) { return read_value(out, no_path); }
  /// Appends a string to `out`.
  bool read_string(std::string& out);
  bool read_uint64(std::uint64_t& out);

 private:
  /// It calls itself for each level.
  static constexpr std::size_t most_levels = 64;
  /// No key at this place is one of the path that is looked for.
  static constexpr std::size_t no_path = SIZE_MAX;

  void skip_space() noexcept;
  bool take(char c) noexcept;
  /// `matched` keys of the path that is looked for lead to this value.
  bool read_value(node& out, std::size_t matched);

  /// Those of all levels that are open wait on one stack, so that each list is allocated once.
  bool read_members(node& out, std::size_t matched);

  bool read_elements(node& out);

  static bool unescape(char c, char& meant) noexcept;

  bool take_digits() noexcept;

  bool read_number(node& out);

  template <class Integer>
  bool read_integer(const char* from, node& out) {
    Integer value = 0;
    if (std::from_chars(from, at_, value).ec != std::errc()) return false;
    out = node(value);
    return true;
  }

  const char* at_;
  const char* end_;
  std::size_t levels_left_;
  std::size_t values_left_;
  json_member* wanted_;
  bool passed_wanted_ = false;
  node::object members_;
  node::array elements_;
};

}  // namespace detail

}  // namespace zarrpoint::inline v0

#if ZARRPOINT_BODIES
#include <zarrpoint/zarr/json_reader_impl.hpp>
#endif

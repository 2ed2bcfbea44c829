// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/zarr/json/json.hpp>

#include <charconv>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

class json_reader;

/// A member of a document that somebody else reads, from its text, while the document is parsed: in
/// place of its value the document has null. Where that reader gives up, or the document is wrong,
/// the member is like every other one, and was not `found`.
class json_member {
 public:
  /// `path` are the keys that lead to it from the root.
  explicit json_member(std::span<const std::string_view> path) noexcept : path_(path) {}
  json_member(const json_member&) = delete;
  json_member& operator=(const json_member&) = delete;
  virtual ~json_member() = default;

  bool found() const noexcept { return found_; }

 protected:
  /// Reads the value; false to give up, and have the whole document read as any other.
  virtual bool read(json_reader& from) = 0;

  /// Called at the objects behind the member of the root that it is in: may go past one, which is
  /// then without members in the document. False, and nothing read, where it is to be read as any
  /// other.
  virtual bool pass(json_reader&) { return false; }

 private:
  friend class json_reader;
  std::span<const std::string_view> path_;
  bool found_ = false;
};

/// Reads JSON (RFC 8259), and nothing else but NaN and the infinities where `limits` allow them. A
/// byte order mark before the document is passed over.
class json_reader {
 public:
  json_reader(std::string_view text, const json_limits& limits, json_member* wanted = nullptr);

  /// The whole of the document. False when it is wrong or a member's reader gave up; `out` is
  /// unspecified then.
  bool read(json& out);
  /// What is wrong with it, after `read` has returned false.
  error failure() &&;
  /// Whether it was the reader of a member that returned false, so that nothing may be wrong.
  bool gave_up() const noexcept { return gave_up_; }

  // For readers of a member. They count values, and levels of nesting, themselves.

  /// What is left of the text.
  std::string_view rest() const noexcept { return {at_, static_cast<std::size_t>(end_ - at_)}; }
  /// Goes past `text` if it comes next.
  bool take_text(std::string_view text) noexcept;
  std::size_t values_left() const noexcept { return values_left_; }
  bool count_values(std::size_t values) noexcept;
  bool descend(std::size_t levels) noexcept;
  void ascend(std::size_t levels) noexcept { levels_left_ += levels; }
  bool read_value(json& out) { return read_value(out, no_path); }
  /// Appends a string to `out`; gives up on `\u` and `\/`, which our writer has no use for.
  bool read_plain_string(std::string& out) { return read_string(out, true); }
  bool read_uint64(std::uint64_t& out);

 private:
  /// It calls itself for each level.
  static constexpr std::size_t most_levels = 1024;
  /// No key at this place is one of the path that is looked for.
  static constexpr std::size_t no_path = SIZE_MAX;
  /// A list of so many values is long.
  static constexpr std::size_t many = 1024;

  /// Keeps the first failure; false.
  bool fail(errc code, std::string message);
  /// The text is not JSON: `what` was expected, or is wrong, at the place that is reached.
  bool wrong(std::string_view what);

  void skip_space() noexcept;
  bool take(char c) noexcept;
  /// The same, or it is wrong.
  bool expect(char c, std::string_view what);
  bool expect_text(std::string_view text);
  /// `matched` keys of the path that is looked for lead to this value.
  bool read_value(json& out, std::size_t matched);

  /// Those of all levels that are open wait on one stack, so that each short list is allocated
  /// once.
  bool read_members(json& out, std::size_t matched);

  bool read_elements(json& out);

  /// Adds a value to the list that is open, which begins at `first`.
  template <class T>
  bool append(std::vector<T>& open, std::size_t first,
              typename std::vector<T>::value_type&& value) {
    const std::size_t size = open.size();
    // To touch memory for the first time costs more than to read the text that fills it. A long
    // list gets as much as it needs, once, and room for the short ones within it.
    if (size - first == many && !grow(open, size + values_to_come() + many)) return false;
    if (size == open.capacity() && !grow(open, 2 * size + 8)) return false;
    open.push_back(std::move(value));
    return true;
  }
  template <class T>
  bool grow(std::vector<T>& open, std::size_t size) {
    const std::size_t old = open.capacity();
    if (size <= old) return true;
    if (!take_memory(size * sizeof(T))) return false;
    open.reserve(size);
    memory_left_ += old * sizeof(T);
    return true;
  }
  template <class T>
  bool close(std::vector<T>& open, std::size_t first, json& out) {
    if (first == 0 && open.size() >= many) {  // nothing else is open: no need to move them
      out = json(std::exchange(open, {}));
      return true;
    }
    const auto begin = open.begin() + static_cast<std::ptrdiff_t>(first);
    if (!take_memory((open.size() - first) * sizeof(T))) return false;
    out = json(std::vector<T>(std::make_move_iterator(begin), std::make_move_iterator(open.end())));
    open.erase(begin, open.end());
    return true;
  }
  bool take_memory(std::size_t bytes);
  /// Counts what is left of the list that is open, by a look at the text.
  std::size_t values_to_come() noexcept;

  /// A key that occurs twice, or null.
  static const std::string* duplicate_key(const json::member* members, std::size_t count);

  bool read_string(std::string& out, bool plain);
  /// What follows a backslash.
  bool read_escape(std::string& out, bool plain);
  bool read_hex4(char32_t& out);

  bool take_digits() noexcept;

  bool read_number(json& out);

  bool read_double(const char* from, json& out);

  template <class Integer>
  bool read_integer(const char* from, json& out) {
    Integer value = 0;
    if (std::from_chars(from, at_, value).ec != std::errc()) return too_large(from, true, out);
    out = json(value);
    return true;
  }
  /// No `json` holds this number: it is its text, or an error.
  bool too_large(const char* from, bool is_integer, json& out);

  const char* begin_;
  const char* at_;
  const char* end_;
  std::size_t levels_;
  std::size_t levels_left_;
  std::size_t values_;
  std::size_t values_left_;
  std::size_t memory_;
  std::size_t memory_left_;
  std::size_t looks_left_;  ///< characters that `values_to_come` may pass over
  json_member* wanted_;
  std::optional<error> failure_;
  bool takes_nan_;
  bool keeps_text_;
  bool keeps_twice_;  ///< at this place
  bool passed_wanted_ = false;
  bool is_behind_ = false;  ///< the member of the root that has the one that is wanted has ended
  bool gave_up_ = false;
  json::object members_;
  json::array elements_;
};

}}}  // namespace zarrpoint::v0::detail

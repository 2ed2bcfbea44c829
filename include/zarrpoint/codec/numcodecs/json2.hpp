// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/numcodecs/object_rows.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// JSON (RFC 8259), as much of it as lists of strings need: read as it comes, so that it takes no
/// memory but that of the strings.
class json_rows_reader {
 public:
  template <class Codec>
  json_rows_reader(bytes_view from, const Codec& codec)
      : from_(as_text(from)), strict_(codec.strict) {}

  result<void> begin_list(index_t) { return expect('['); }
  result<void> next(index_t i);
  result<void> end_list() { return expect(']'); }

  result<void> text(std::string& into);

  result<std::uint64_t> number();

  result<void> finish();

 private:
  static error cut_short() { return {errc::corrupt, "cut short"}; }

  void skip_space();
  result<void> expect(char wanted);

  /// What is not a string: `null` and `0` are empty ones.
  result<void> placeholder();

  /// What follows a backslash.
  result<void> escape(std::string& into);
  static error lone_surrogate() { return {errc::corrupt, "half of a surrogate pair"}; }

  result<std::uint32_t> code_unit();
  static void append_utf8(std::string& into, std::uint32_t point);

  std::string_view from_;
  bool strict_;
};

/// Compact JSON as Python writes it; the strings are UTF-8.
class json_rows_writer {
 public:
  template <class Codec>
  json_rows_writer(byte_sink& to, const Codec& codec) : to_(to), ascii_(codec.ensure_ascii) {}

  void begin_list(index_t) { to_.put('['); }
  void next(index_t i);
  void end_list() { to_.put(']'); }
  void number(std::uint64_t value) { to_.put(std::to_string(value)); }
  void text(std::string_view text);

 private:
  void control(unsigned char c);
  void escape(std::string_view sequence);
  void unit(std::uint32_t value);

  byte_sink& to_;
  bool ascii_;
};

}  // namespace detail

/// The codec `numcodecs.json2`: strings as JSON: the rows, `|O` and the shape. Null and 0 are read
/// as empty strings; other objects are `unsupported`. Options about the layout change nothing that
/// is read, and what is written is compact.
struct json2_codec : detail::object_rows_codec<json2_codec> {
  static constexpr std::string_view name = "numcodecs.json2";
  using reader = detail::json_rows_reader;
  using writer = detail::json_rows_writer;

  bool ensure_ascii = true;  ///< writes `\u00e9` in place of its UTF-8
  bool strict = true;        ///< refuses control characters in strings

  static result<json2_codec> from_configuration(const node& configuration);
  node configuration() const;
};

}}  // namespace zarrpoint::v0

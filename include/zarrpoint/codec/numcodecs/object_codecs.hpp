// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/kit/vlen.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/utf8.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// What the codecs json2 and msgpack2 of numcodecs have in common. A chunk of objects is a list of
// its rows, which are lists of their rows and so on. Behind them stand the typestr `|O` and the
// shape. Of the objects, strings are known here; null and 0, which stand where nothing was written,
// are empty.
namespace zarrpoint { inline namespace v0 { namespace detail {

/// Reads a chunk of strings. A `Reader` has `begin_list(size)`, `next(i)` before item `i`,
/// `end_list()`, `text(string)`, `number()` and `finish()`.
template <class Reader>
class rows_reader {
 public:
  rows_reader(Reader& from, codec_workspace& scratch) : from_(from), scratch_(scratch) {}

  result<void> read(const mutable_host_view& into) {
    const std::size_t rank = into.rank();
    const index_t count = rank == 0 ? 1 : into.shape[0];
    ZARRPOINT_CHECK(from_.begin_list(count + 2));
    if (rank == 0) {
      ZARRPOINT_CHECK(from_.next(0));
      ZARRPOINT_CHECK(element(into.data));
    } else {
      ZARRPOINT_CHECK(items(into, 0, into.data));
    }
    ZARRPOINT_CHECK(from_.next(count));
    std::string type;
    ZARRPOINT_CHECK(from_.text(type));
    if (type != "|O")
      return error{errc::unsupported,
                   "the stored elements must be of type \"|O\", not " + in_quotes(type)};
    ZARRPOINT_CHECK(from_.next(count + 1));
    ZARRPOINT_CHECK(from_.begin_list(static_cast<index_t>(rank)));
    for (std::size_t axis = 0; axis < rank; ++axis) {
      ZARRPOINT_CHECK(from_.next(static_cast<index_t>(axis)));
      ZARRPOINT_TRY(extent, from_.number());
      if (extent != static_cast<std::uint64_t>(into.shape[axis]))
        return error{errc::corrupt, "the stored rows do not have shape " + to_string(into.shape)};
    }
    ZARRPOINT_CHECK(from_.end_list());
    ZARRPOINT_CHECK(from_.end_list());
    return from_.finish();
  }

 private:
  /// The items of a list along `axis`: as deep as the rank.
  result<void> items(const mutable_host_view& into, std::size_t axis, std::byte* at) {
    // Memory of no elements may have no address to count from.
    const index_t step = at == nullptr ? 0 : into.strides[axis];
    for (index_t i = 0; i < into.shape[axis]; ++i, at += step) {
      ZARRPOINT_CHECK(from_.next(i));
      if (axis + 1 == into.rank()) {
        ZARRPOINT_CHECK(element(at));
      } else {
        ZARRPOINT_CHECK(from_.begin_list(into.shape[axis + 1]));
        ZARRPOINT_CHECK(items(into, axis + 1, at));
        ZARRPOINT_CHECK(from_.end_list());
      }
    }
    return {};
  }
  result<void> element(std::byte* at) {
    std::string& text = *reinterpret_cast<std::string*>(at);
    ZARRPOINT_CHECK(from_.text(text));
    if (!is_utf8(text)) return error{errc::corrupt, "a string is not UTF-8"};
    return scratch_.charge_text(text.size());
  }

  Reader& from_;
  codec_workspace& scratch_;
};

/// Writes a chunk of strings. A `Writer` has `begin_list(size)`, `next(i)`, `end_list()`,
/// `text(string)` and `number(value)`.
template <class Writer>
class rows_writer {
 public:
  explicit rows_writer(Writer& to) : to_(to) {}

  result<void> write(const host_view& from) {
    const std::size_t rank = from.rank();
    const index_t count = rank == 0 ? 1 : from.shape[0];
    to_.begin_list(count + 2);
    if (rank == 0) {
      to_.next(0);
      ZARRPOINT_CHECK(element(from.data));
    } else {
      ZARRPOINT_CHECK(items(from, 0, from.data));
    }
    to_.next(count);
    to_.text("|O");
    to_.next(count + 1);
    to_.begin_list(static_cast<index_t>(rank));
    for (std::size_t axis = 0; axis < rank; ++axis) {
      to_.next(static_cast<index_t>(axis));
      to_.number(static_cast<std::uint64_t>(from.shape[axis]));
    }
    to_.end_list();
    to_.end_list();
    return {};
  }

 private:
  result<void> items(const host_view& from, std::size_t axis, const std::byte* at) {
    // Memory of no elements may have no address to count from.
    const index_t step = at == nullptr ? 0 : from.strides[axis];
    for (index_t i = 0; i < from.shape[axis]; ++i, at += step) {
      to_.next(i);
      if (axis + 1 == from.rank()) {
        ZARRPOINT_CHECK(element(at));
      } else {
        to_.begin_list(from.shape[axis + 1]);
        ZARRPOINT_CHECK(items(from, axis + 1, at));
        to_.end_list();
      }
    }
    return {};
  }
  result<void> element(const std::byte* at) {
    const std::string& text = *reinterpret_cast<const std::string*>(at);
    if (!is_utf8(text)) return error{errc::invalid_argument, "a string is not UTF-8"};
    if (text.size() > UINT32_MAX)
      return error{errc::out_of_range, "an element takes 2^32 bytes or more"};
    to_.text(text);
    return {};
  }

  Writer& to_;
};

/// Counts bytes, and writes those for which there is room.
class byte_sink {
 public:
  explicit byte_sink(mutable_bytes to = {}) : to_(to) {}

  void put(std::string_view text) {
    if (done_ <= to_.size() && text.size() <= to_.size() - done_ && !text.empty())
      std::memcpy(to_.data() + done_, text.data(), text.size());
    done_ += text.size();
  }
  void put(char one) { put(std::string_view(&one, 1)); }

  std::uint64_t size() const { return done_; }
  bool fits() const { return done_ <= to_.size(); }

 private:
  mutable_bytes to_;
  std::uint64_t done_ = 0;
};

/// What both codecs are but for their `Self::reader` and `Self::writer`, which are made of bytes or
/// of a sink and the codec.
template <class Self>
struct object_rows_codec {
  static constexpr bool fixed_size = false;

  result<Self> resolve(const tensor_spec& decoded) const {
    if (decoded.type != dtype_kind::string)
      return error{errc::invalid_argument,
                   "elements of type " + std::string(to_string(decoded.type)) + " are not strings"};
    ZARRPOINT_TRY(count, element_count(decoded.shape));
    if (count > INT32_MAX)
      return error{errc::invalid_argument, to_string(decoded) + " has too many strings"};
    return self();
  }

  std::uint64_t encoded_bound(const tensor_spec&) const { return UINT64_MAX; }

  result<std::uint64_t> encoded_size(const host_view& from) const {
    byte_sink counted;
    ZARRPOINT_CHECK(write(from, counted));
    return counted.size();
  }
  result<std::size_t> encode(const host_view& from, mutable_bytes to, codec_workspace&) const {
    byte_sink written(to);
    ZARRPOINT_CHECK(write(from, written));
    if (!written.fits()) return error{errc::out_of_range, "the output does not fit"};
    return static_cast<std::size_t>(written.size());
  }
  result<void> decode(bytes_view stored, const mutable_host_view& into,
                      codec_workspace& scratch) const {
    typename Self::reader from(stored, self());
    return rows_reader<typename Self::reader>(from, scratch).read(into);
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }

  result<void> write(const host_view& from, byte_sink& to) const {
    typename Self::writer writer(to, self());
    return rows_writer<typename Self::writer>(writer).write(from);
  }
};

}}}  // namespace zarrpoint::v0::detail

namespace zarrpoint { inline namespace v0 {

/// The codec `numcodecs.categorize`: strings as their number in `labels`, counted from 1, each as
/// an integer of the type `astype`; 0 is the empty string. Text that is not a label is an error,
/// where numcodecs makes it an empty string.
struct categorize_codec {
  static constexpr std::string_view name = "numcodecs.categorize";
  static constexpr bool fixed_size = true;

  void fields(configuration_fields& all);

  result<categorize_codec> resolve(const tensor_spec& decoded) const;

  std::uint64_t encoded_bound(const tensor_spec& decoded) const;

  result<std::size_t> encode(const host_view& from, mutable_bytes to, codec_workspace&) const;

  result<void> decode(bytes_view stored, const mutable_host_view& into,
                      codec_workspace& scratch) const;

 private:
  struct state {
    std::string stored_text = "|u1";
    std::size_t size = 1;
    std::uint64_t most = 255;
    bool is_big = false;
    std::vector<std::string> labels;
    std::map<std::string, std::uint64_t, std::less<>> numbers;  ///< of equal labels the last one's

    /// `|u1`, `<i4`, `u1` or `uint16`.
    result<void> read_type();
  };

  std::uint64_t load(const std::byte* from) const;
  void store(std::byte* to, std::uint64_t number) const;

  std::shared_ptr<const state> self_;
};

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
  static error cut_short() { return {errc::corrupt, "it is cut short"}; }

  void skip_space();
  result<void> expect(char wanted);

  /// What is not a string: `null` and `0` are empty ones.
  result<void> placeholder();

  /// What follows a backslash.
  result<void> escape(std::string& into);
  static error lone_surrogate() { return {errc::corrupt, "a string has half of a surrogate pair"}; }

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

  void fields(configuration_fields& all);
};

namespace detail {

/// MessagePack, as much of it as lists of strings need.
class msgpack_reader {
 public:
  template <class Codec>
  msgpack_reader(bytes_view from, const Codec&) : from_(from) {}

  result<void> begin_list(index_t size);
  result<void> next(index_t) { return {}; }
  result<void> end_list() { return {}; }

  result<void> text(std::string& into);

  result<std::uint64_t> number();

  result<void> finish() const;

 private:
  static error cut_short() { return {errc::corrupt, "it is cut short"}; }

  /// A big-endian number of `size` bytes.
  result<std::uint64_t> take(std::size_t size);

  /// Something that has a meaning in MessagePack, but not here.
  static error other(std::uint64_t mark, std::string_view expected);

  bytes_view from_;
};

class msgpack_writer {
 public:
  template <class Codec>
  msgpack_writer(byte_sink& to, const Codec& codec) : to_(to), short_(codec.use_bin_type) {}

  void begin_list(index_t size);
  void next(index_t) {}
  void end_list() {}
  void text(std::string_view text);
  void number(std::uint64_t value);

 private:
  void mark(std::uint64_t first, std::uint64_t value, unsigned size);

  byte_sink& to_;
  bool short_;  ///< whether short strings may have a length of one byte, as since 2013
};

}  // namespace detail

/// The codec `numcodecs.msgpack2`: strings as MessagePack: the rows, `|O` and the shape. Null and 0
/// are read as empty strings; other objects are `unsupported`. numcodecs had it up to 0.16.
struct msgpack2_codec : detail::object_rows_codec<msgpack2_codec> {
  static constexpr std::string_view name = "numcodecs.msgpack2";
  using reader = detail::msgpack_reader;
  using writer = detail::msgpack_writer;

  bool use_single_float = false;  ///< changes nothing here
  bool use_bin_type = true;
  bool raw = false;  ///< changes nothing here

  void fields(configuration_fields& all);
};

/// The codec `numcodecs.vlen-array`: elements that are vectors of numbers of one `dtype`, a NumPy
/// typestr. In memory an element of type `bytes` is the numbers as they are stored, in the byte
/// order of that dtype. Else as `vlen-bytes`: lengths are in bytes.
struct vlen_array_codec : detail::vlen_codec<vlen_array_codec> {
  static constexpr std::string_view name = "numcodecs.vlen-array";
  static constexpr dtype_kind kind = dtype_kind::bytes;

  std::string type = "|u1";   ///< of the numbers
  std::size_t item_size = 1;  ///< of one of them

  void fields(configuration_fields& all);

  const char* check(std::string_view bytes) const;
};

}}  // namespace zarrpoint::v0

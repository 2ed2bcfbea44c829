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
  static error cut_short() { return {errc::corrupt, "cut short"}; }

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

  static result<msgpack2_codec> from_configuration(const node& configuration);
  node configuration() const;
};

}}  // namespace zarrpoint::v0

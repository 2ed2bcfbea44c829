// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// A codec with a list of its members.
template <class C>
concept codec_with_fields = std::default_initializable<C> &&
    requires(C& self, configuration_fields& all) {
  { self.fields(all) } -> std::same_as<void>;
};

/// A codec that reads and writes its configuration itself.
template <class C>
concept codec_with_configuration = requires(const C& self, const json& configuration) {
  { C::from_configuration(configuration) } -> std::same_as<result<C>>;
  { self.configuration() } -> std::same_as<json>;
};

}  // namespace detail

/// What every codec has. A codec is a plain copyable value: its options and nothing else.
///
/// - `name`: as in metadata; optionally `aliases`, an array of other names that readers accept;
/// - `fields(all)`: names each member of the configuration to a `configuration_fields`, from which
///   it is read, or to which it is written in canonical form;
/// - or, for codecs that hold others, `from_configuration(node)`, of the `configuration` of the
///   metadata, null when absent, and `configuration()`, to be written. If there is a
///   `from_configuration(node, place)`, it is called in its stead with the `codec_place`;
/// - optionally `resolve(spec)`: the codec bound to the dtype and shape that it will encode, or why
///   that makes no sense. A bytes -> bytes codec gets those of the array whose bytes these are.
template <class C>
concept codec = std::copyable<C> &&
    (detail::codec_with_fields<C> || detail::codec_with_configuration<C>)&&requires {
  { C::name } -> std::convertible_to<std::string_view>;
};

/// The codec of a configuration, or what speaks against that.
template <codec C>
result<C> make_codec(const json& configuration) {
  if constexpr (detail::codec_with_configuration<C>) {
    return C::from_configuration(configuration);
  } else {
    C out;
    configuration_fields all(configuration);
    out.fields(all);
    ZARRPOINT_CHECK(all.end());
    return out;
  }
}

/// The configuration of a codec in canonical form.
template <codec C>
json configuration_of(const C& codec) {
  if constexpr (detail::codec_with_configuration<C>) {
    return codec.configuration();
  } else {
    C all_members = codec;
    configuration_fields all;
    all_members.fields(all);
    return all.take_written();
  }
}

namespace detail {

/// A codec that only looks at the same elements in another order.
template <class C>
concept viewing_codec = requires(const C& self, const host_view& decoded,
                                 const mutable_host_view& into) {
  { self.encode_view(decoded) } -> std::same_as<host_view>;
  { self.decode_view(into) } -> std::same_as<mutable_host_view>;
};

/// A codec that makes new elements.
template <class C>
concept copying_codec = requires(const C& self, const host_view& from, const mutable_host_view& to,
                                 codec_workspace& scratch) {
  { self.encode(from, to, scratch) } -> std::same_as<result<void>>;
  { self.decode(from, to, scratch) } -> std::same_as<result<void>>;
};

/// A codec that keeps the bytes where they are and works at their end.
template <class C>
concept in_place_codec = requires(const C& self, bytes_view stored, mutable_bytes buffer,
                                  std::size_t used) {
  { self.encode_in_place(buffer, used) } -> std::same_as<result<std::size_t>>;
  { self.decode_in_place(stored) } -> std::same_as<result<bytes_view>>;
};

/// A codec that makes new bytes.
template <class C>
concept out_of_place_codec = requires(const C& self, bytes_view from, mutable_bytes to,
                                      codec_workspace& scratch) {
  { self.encode(from, to, scratch) } -> std::same_as<result<std::size_t>>;
  { self.decode(from, to, scratch) } -> std::same_as<result<std::size_t>>;
};

}  // namespace detail

/// Elements to elements, such as transpose.
///
/// - `encoded_spec(decoded)`: dtype and shape of what it makes;
/// - either `encode_view` and `decode_view`, which give the same memory in encoded order (the
///   second of memory that will be written), or `encode` and `decode`, which fill `to`;
/// - with the latter optionally `borrow(view)` and `target(view)`: the same memory in encoded order
///   where the elements lie so that none need be moved, such as those of a dense array;
/// - with the latter optionally `moves_elements`, true: it makes no new elements, and so takes
///   strings, too;
/// - optionally `encode_fill(fill, decoded)`: the element that it makes, as a vector of bytes, of
///   chunks whose elements are all `fill`. Without it an array of one element is encoded.
template <class C>
concept array_to_array_codec = codec<C> && requires(const C& self, const tensor_spec& decoded) {
  { self.encoded_spec(decoded) } -> std::same_as<tensor_spec>;
} &&(detail::viewing_codec<C> || detail::copying_codec<C>);

/// Elements to bytes, such as bytes and vlen-utf8.
///
/// - `fixed_size`: whether the bytes depend on the spec only. Then `encoded_bound(spec)` is exact
///   and `decode` is never given another size. Otherwise it is the most bytes, UINT64_MAX when
///   there is no bound, and `encoded_size(view)` is the exact size of a chunk, or an error;
/// - `encode(from, to, scratch)`: into a `to` of that size; returns the bytes written;
/// - `decode(stored, to, scratch)`: exactly; left-over or missing bytes are `corrupt`;
/// - optionally `borrow(view)`: the memory of the view when it is what `encode` would write, and
///   `target(view)`: the memory to be filled with encoded bytes in place of a `decode`;
/// - optionally `is_raw(spec)`: whether these two work on every dense view.
template <class C>
concept array_to_bytes_codec = codec<C> &&
    requires(const C& self, const tensor_spec& decoded, const host_view& from,
             const mutable_host_view& into, bytes_view stored, mutable_bytes to,
             codec_workspace& scratch) {
  { C::fixed_size } -> std::convertible_to<bool>;
  { self.encoded_bound(decoded) } -> std::same_as<std::uint64_t>;
  { self.encode(from, to, scratch) } -> std::same_as<result<std::size_t>>;
  { self.decode(stored, into, scratch) } -> std::same_as<result<void>>;
} &&(C::fixed_size || requires(const C& self, const host_view& from) {
  { self.encoded_size(from) } -> std::same_as<result<std::uint64_t>>;
});

/// Bytes to bytes, such as zstd and crc32c.
///
/// - `fixed_size`: whether the encoded size depends on the decoded size only;
/// - `encoded_bound(decoded)`: that size, or the most bytes; UINT64_MAX when it overflows;
/// - either `encode(from, to, scratch)` into a `to` of that size, and `decode(from, to, scratch)`,
///   which never writes past `to` and returns `out_of_range` when more would be needed; both return
///   the bytes written;
/// - or, for codecs that keep the bytes and add some at the end, `encode_in_place(buffer, used)`,
///   which returns the new number of used bytes, and `decode_in_place(stored)`, which returns the
///   decoded part;
/// - optionally `decoded_size(stored)`: what the bytes say of their decoded size, untrusted.
template <class C>
concept bytes_to_bytes_codec = codec<C> && requires(const C& self, std::uint64_t size) {
  { C::fixed_size } -> std::convertible_to<bool>;
  { self.encoded_bound(size) } -> std::same_as<std::uint64_t>;
} &&(detail::in_place_codec<C> || detail::out_of_place_codec<C>);

namespace detail {

/// Fails to compile with the member that keeps `C` from being a codec of any kind.
template <class C>
consteval void explain_codec() {
  if constexpr (!requires {
                  { C::name } -> std::convertible_to<std::string_view>;
                }) {
    static_assert(sizeof(C) == 0,
                  "zarrpoint: this codec lacks `name` as examples/codecs/my_codec.hpp has it");
  } else if constexpr (!codec<C>) {
    static_assert(sizeof(C) == 0,
                  "zarrpoint: this codec lacks fields() as examples/codecs/my_codec.hpp has it");
  } else if constexpr (requires { &C::encoded_spec; }) {
    static_assert(
        sizeof(C) == 0,
        "zarrpoint: a codec of elements encodes and decodes as array_to_array_codec says");
  } else if constexpr (!requires {
                         { C::fixed_size } -> std::convertible_to<bool>;
                       }) {
    static_assert(
        sizeof(C) == 0,
        "zarrpoint: this codec lacks `fixed_size` as examples/codecs/my_codec.hpp has it");
  } else if constexpr (requires(const C& self, const tensor_spec& of) { self.encoded_bound(of); }) {
    static_assert(sizeof(C) == 0,
                  "zarrpoint: a codec that makes bytes of elements lacks encode(), decode() or, "
                  "without a fixed size, encoded_size() as array_to_bytes_codec says");
  } else if constexpr (!requires(const C& self, std::uint64_t size) {
                         { self.encoded_bound(size) } -> std::same_as<std::uint64_t>;
                       }) {
    static_assert(
        sizeof(C) == 0,
        "zarrpoint: this codec lacks encoded_bound() as examples/codecs/my_codec.hpp has it");
  } else if constexpr (
      requires { &C::encode_in_place; } || requires { &C::decode_in_place; }) {
    static_assert(sizeof(C) == 0,
                  "zarrpoint: this codec lacks encode_in_place() or decode_in_place() as "
                  "bytes_to_bytes_codec says");
  } else {
    static_assert(
        sizeof(C) == 0,
        "zarrpoint: this codec lacks encode() or decode(): see examples/codecs/my_codec.hpp");
  }
}

}  // namespace detail

/// The kind of a codec; a type that is none of the three does not compile here.
template <class C>
consteval codec_kind kind_of() {
  if constexpr (!array_to_array_codec<C> && !array_to_bytes_codec<C> && !bytes_to_bytes_codec<C>)
    detail::explain_codec<C>();
  if constexpr (array_to_array_codec<C>) return codec_kind::array_to_array;
  if constexpr (array_to_bytes_codec<C>) return codec_kind::array_to_bytes;
  return codec_kind::bytes_to_bytes;
}

}}  // namespace zarrpoint::v0

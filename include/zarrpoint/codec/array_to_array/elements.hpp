// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/kit/filter.hpp>
#include <zarrpoint/codec/kit/real_number.hpp>
#include <zarrpoint/memory/buffer.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// The codec `bitround` of the registry, and `numcodecs.bitround`: floats keep `keepbits` bits of
/// their mantissa, rounded to nearest, ties to even, which may carry into the exponent. Complex
/// numbers do so in both parts. Integers and times keep `keepbits` bits from the highest that is
/// set. As many bits as there are, or more, change nothing. Decoding gives the elements as they
/// are.
struct bitround_codec {
  static constexpr std::string_view name = "bitround";
  static constexpr std::array<std::string_view, 1> aliases{"numcodecs.bitround"};

  int keepbits = 0;

  void fields(configuration_fields& all);

  result<bitround_codec> resolve(const tensor_spec& decoded) const;
  tensor_spec encoded_spec(const tensor_spec& decoded) const { return decoded; }

  result<void> encode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<void> decode(const host_view& from, const mutable_host_view& to, codec_workspace&) const;
  result<std::vector<std::byte>> encode_fill(bytes_view fill, const tensor_spec& decoded) const;

 private:
  /// 0 for types that are not floats of two bytes or more.
  static int mantissa_bits(const dtype& type);

  void round(const mutable_host_view& to, const host_view& from) const;
};

/// The codec `cast_value` of the registry: integers and floats as numbers of another type, and back
/// by the same rules. A number is looked up in the scalar map first; else it is rounded as told,
/// and one out of range is clamped, wrapped or, by default, an error.
struct cast_value_codec {
  static constexpr std::string_view name = "cast_value";

  /// What stands for what, by the key of `real_format`: sorted.
  using scalar_map = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

  dtype type;
  detail::cast_rules rules;
  json map;               ///< `scalar_map`, or null
  scalar_map encode_map;  ///< these two are known once the type is
  scalar_map decode_map;

  void fields(configuration_fields& all);

  result<cast_value_codec> resolve(const tensor_spec& decoded) const;
  tensor_spec encoded_spec(const tensor_spec& decoded) const { return {type, decoded.shape}; }

  result<void> encode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<void> decode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<std::vector<std::byte>> encode_fill(bytes_view fill, const tensor_spec& decoded) const;

 private:
  result<scalar_map> read_map(std::string_view key, const detail::real_format& from,
                              const detail::real_format& to) const;

  result<void> run(const mutable_host_view& to, const host_view& from, codec_workspace& scratch,
                   const scalar_map& known, errc code) const;
};

/// The codec `reshape` of the registry: the same elements, in C order, in an array of another
/// shape. Each extent is a number, the product of those of some input axes, or one -1 for what is
/// left.
struct reshape_codec {
  static constexpr std::string_view name = "reshape";
  static constexpr bool moves_elements = true;

  /// An extent: a number, -1, or, with axes, their product.
  struct extent {
    index_t size = 0;
    std::optional<std::vector<index_t>> axes;
  };
  std::vector<extent> shape;
  dims resolved;  ///< the shape, once the input is known

  void fields(configuration_fields& all);

  result<reshape_codec> resolve(const tensor_spec& decoded) const;
  tensor_spec encoded_spec(const tensor_spec& decoded) const { return {decoded.type, resolved}; }

  /// The same memory, when it is dense.
  std::optional<host_view> borrow(const host_view& decoded) const;
  std::optional<mutable_host_view> target(const mutable_host_view& into) const;
  result<void> encode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<void> decode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<std::vector<std::byte>> encode_fill(bytes_view fill, const tensor_spec&) const;

 private:
  static result<extent> read_extent(const json& value, index_t& last_axis);

  result<dims> reshaped(const dims& from) const;
  /// Whether what stands before the axes of extent `i`, and after them, is as large in both shapes.
  bool keeps_place(std::size_t i, const dims& from, const dims& made) const;
  static bool same_count(const dims& a, std::size_t a_from, std::size_t a_to, const dims& b,
                         std::size_t b_from, std::size_t b_to);

  /// One of the two is dense: elements in C order are those of the other in its own shape.
  result<void> copy(const mutable_host_view& to, const host_view& from,
                    codec_workspace& scratch) const;
};

/// The codec `scale_offset` of the registry: `(x - offset) * scale`, and back `x / scale + offset`,
/// in the arithmetic of the array's type. Each step of floats is rounded; a number that the type
/// cannot hold, such as a fraction of an integer, is an error, on either way.
struct scale_offset_codec {
  static constexpr std::string_view name = "scale_offset";

  std::optional<json> offset;  ///< as in the metadata: numbers as fill values spell them
  std::optional<json> scale;
  std::uint64_t offset_bits = 0;  ///< these two are known once the type is
  std::uint64_t scale_bits = 0;

  void fields(configuration_fields& all);

  result<scale_offset_codec> resolve(const tensor_spec& decoded) const;
  tensor_spec encoded_spec(const tensor_spec& decoded) const { return decoded; }

  result<void> encode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<void> decode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<std::vector<std::byte>> encode_fill(bytes_view fill, const tensor_spec& decoded) const;

 private:
  result<void> run(const mutable_host_view& to, const host_view& from, codec_workspace& scratch,
                   bool forward) const;

  result<std::uint64_t> step(const detail::real_format& format, std::uint64_t bits,
                             bool forward) const;

  result<std::uint64_t> step_float(const detail::real_format& format, std::uint64_t bits,
                                   bool forward) const;

  /// In 128 bits, which hold every difference.
  result<std::uint64_t> step_integer(const detail::real_format& format, std::uint64_t bits,
                                     bool forward) const;

  static error not_held(const detail::real_format& format, bool forward);
};

}}  // namespace zarrpoint::v0

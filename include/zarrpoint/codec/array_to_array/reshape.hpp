// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/memory/buffer.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

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

  static result<reshape_codec> from_configuration(const node& configuration);
  node configuration() const;

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
  static result<extent> read_extent(const node& value, index_t& last_axis);

  result<dims> reshaped(const dims& from) const;
  /// Whether what stands before the axes of extent `i`, and after them, is as large in both shapes.
  bool keeps_place(std::size_t i, const dims& from, const dims& made) const;
  static bool same_count(const dims& a, std::size_t a_from, std::size_t a_to, const dims& b,
                         std::size_t b_from, std::size_t b_to);

  /// One of the two is dense: elements in C order are those of the other in its own shape.
  result<void> copy(const mutable_host_view& to, const host_view& from,
                    codec_workspace& scratch) const;
};

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/vlen.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The codec `numcodecs.vlen-array`: elements that are vectors of numbers of one `dtype`, a NumPy
/// typestr. In memory an element of type `bytes` is the numbers as they are stored, in the byte
/// order of that dtype. Else as `vlen-bytes`: lengths are in bytes.
struct vlen_array_codec : detail::vlen_codec<vlen_array_codec> {
  static constexpr std::string_view name = "numcodecs.vlen-array";
  static constexpr dtype_kind kind = dtype_kind::bytes;

  std::string type = "|u1";   ///< of the numbers
  std::size_t item_size = 1;  ///< of one of them

  static result<vlen_array_codec> from_configuration(const node& configuration);
  node configuration() const { return node::object{{"dtype", type}}; }

  const char* check(std::string_view bytes) const;
};

}}  // namespace zarrpoint::v0

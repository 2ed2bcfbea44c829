// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Array -> bytes codecs of strings, on strings that a test writes down.

#include "support/codec_bytes.hpp"

#include <string>
#include <vector>

namespace zarrpoint_test {

using strings = std::vector<std::string>;

/// What `codec` makes of a dense array of `shape`.
template <class C>
zp::result<byte_string> encoded_strings(const C& codec, const strings& elements,
                                        const zp::tensor_spec& spec) {
  ZARRPOINT_TRY(bound, codec.resolve(spec));
  const zp::host_view view =
      zp::dense_view(reinterpret_cast<const std::byte*>(elements.data()), spec);
  std::uint64_t size = bound.encoded_bound(spec);
  if constexpr (!C::fixed_size) {
    ZARRPOINT_TRY(exact, bound.encoded_size(view));
    size = exact;
  }
  byte_string out(size);
  zp::codec_workspace scratch;
  ZARRPOINT_TRY(written, bound.encode(view, out, scratch));
  CHECK(written == out.size());
  return out;
}

/// The elements that it makes of `stored`.
template <class C>
zp::result<strings> decoded_strings(const C& codec, zp::bytes_view stored,
                                    const zp::tensor_spec& spec) {
  ZARRPOINT_TRY(bound, codec.resolve(spec));
  strings out(static_cast<std::size_t>(zp::element_count(spec.shape).value()), "unset");
  zp::codec_workspace scratch;
  ZARRPOINT_CHECK(bound.decode(
      stored, zp::dense_view(reinterpret_cast<std::byte*>(out.data()), spec), scratch));
  return out;
}

}  // namespace zarrpoint_test

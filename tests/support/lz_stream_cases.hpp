// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What every decoder of a compressed stream without sizes must do.

#include "support/codec_bytes.hpp"
#include "support/page_end.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint_test {

using lz_stream_decoder = zp::result<std::size_t> (*)(zp::bytes_view, zp::mutable_bytes);

/// Decodes `stream` to `expected`, into room of that size and more; with less it is
/// `out_of_range`; cut and damaged streams never write outside, and cut ones are not read beyond.
inline void check_lz_stream(lz_stream_decoder decode, const std::vector<std::byte>& stream,
                            const std::vector<std::byte>& expected) {
  for (const std::size_t more : {0u, 1u, 15u, 16u, 64u}) {
    guarded_bytes out(expected.size() + more);
    const zp::result<std::size_t> size = decode(stream, out.bytes());
    REQUIRE_MESSAGE(size, zp::to_string(size.failure()));
    REQUIRE(*size == expected.size());
    REQUIRE(copy_of(out.bytes().first(*size)) == expected);
    REQUIRE(out.intact());
  }
  for (std::size_t room = 0; room < expected.size(); room += expected.size() / 64 + 1) {
    guarded_bytes out(room);
    const zp::result<std::size_t> size = decode(stream, out.bytes());
    REQUIRE_FALSE(size);
    REQUIRE(size.failure().code == zp::errc::out_of_range);
    REQUIRE(out.intact());
  }
  guarded_bytes out(expected.size());
  for_each_damage(stream, [&](const std::vector<std::byte>& damaged) {
    const zp::result<std::size_t> size = decode(damaged, out.bytes());
    if (size && damaged.size() < stream.size()) REQUIRE(*size < expected.size());
  });
  for (std::size_t size = 0; size < stream.size(); size += stream.size() / 256 + 1) {
    const page_end cut(zp::bytes_view(stream).first(size));
    const zp::result<std::size_t> made = decode(cut.bytes(), out.bytes());
    if (made) REQUIRE(*made < expected.size());
  }
  REQUIRE(out.intact());
}

}  // namespace zarrpoint_test

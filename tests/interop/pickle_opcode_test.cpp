// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/pickle/pickle_opcode.hpp>

#include "pickle_bytes.hpp"

#include <doctest/doctest.h>

TEST_CASE("pickle_opcode: what no protocol has is refused, what one has is not") {
  using namespace zarrpoint;
  int known = 0;
  for (int code = 0; code < 256; ++code) {
    std::string bytes = "\x80\x05";
    bytes += static_cast<char>(code);
    const auto read = test::unpickle(bytes);
    REQUIRE_FALSE(read);
    if (read.failure().code == errc::corrupt) ++known;
  }
  // All but PROTO, which only begins a pickle.
  CHECK(known == 54);
  CHECK(static_cast<int>(torch::detail::pickle_op::memoize) == 0x94);
}

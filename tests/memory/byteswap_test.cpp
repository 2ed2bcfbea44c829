// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/byteswap.hpp>

#include "support/random_layout.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace byteswap_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("byteswap: every scalar size and length, in place and copied, against std::reverse") {
  random_source random(3);
  for (const std::size_t size : {1u, 2u, 4u, 8u}) {
    for (std::size_t count = 0; count < 40; ++count) {
      const std::vector<std::byte> from = random_bytes(random, size * count);
      std::vector<std::byte> expected = from;
      for (auto it = expected.begin(); it != expected.end();
           it += static_cast<std::ptrdiff_t>(size))
        std::reverse(it, it + static_cast<std::ptrdiff_t>(size));
      std::vector<std::byte> copied(from.size());
      zp::detail::byteswap_copy(copied, from, size);
      CHECK(copied == expected);
      std::vector<std::byte> in_place = from;
      zp::detail::byteswap_elements(in_place, size);
      CHECK(in_place == expected);
    }
  }
}

}  // namespace byteswap_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/chunks.hpp>

#include <doctest/doctest.h>

namespace chunk_key_test {

using namespace zarrpoint;

TEST_CASE("keys of chunks") {
  using style = chunk_key_encoding::style;
  CHECK(chunk_key_encoding{}.key({0, 1, 23}) == "c/0/1/23");
  CHECK(chunk_key_encoding{}.key({}) == "c");
  CHECK(chunk_key_encoding{style::default_, '.'}.key({0, 1}) == "c.0.1");
  CHECK(chunk_key_encoding{style::default_, '.'}.key({}) == "c");
  CHECK(chunk_key_encoding{style::v2, '.'}.key({0, 1}) == "0.1");
  CHECK(chunk_key_encoding{style::v2, '/'}.key({0, 1}) == "0/1");
  CHECK(chunk_key_encoding{style::v2, '/'}.key({7}) == "7");
  CHECK(chunk_key_encoding{style::v2, '.'}.key({}) == "0");
}

TEST_CASE("keys read back, and nothing else does") {
  for (const auto style : {chunk_key_encoding::style::default_, chunk_key_encoding::style::v2}) {
    for (const char separator : {'/', '.'}) {
      const chunk_key_encoding keys{style, separator};
      for (const dims& at : {dims{}, dims{0}, dims{12, 0, 3}})
        CHECK(keys.parse(keys.key(at), at.rank()) == at);
      for (const char* other :
           {"", "c", "c/", "0", "c/0/", "c/00/1", "c/-1/0", "c/0/1/2", "zarr.json", "c/x/0", "c/0",
            "0.00", "c/99999999999999999999/0", "d/0/1"})
        CHECK_FALSE(keys.parse(other, 2));
    }
  }
}

}  // namespace chunk_key_test

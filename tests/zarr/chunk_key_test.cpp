// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/chunk_key.hpp>

#include <doctest/doctest.h>

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

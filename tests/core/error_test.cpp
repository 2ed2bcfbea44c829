// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/error.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>

namespace error_test {

namespace zp = zarrpoint;

TEST_CASE("errc: every code has a name of its own") {
  std::set<std::string> names;
  const auto last = static_cast<int>(zp::errc::replaced);
  for (int code = 0; code <= last; ++code) {
    const std::string name(zp::to_string(static_cast<zp::errc>(code)));
    CHECK(name != "unknown");
    CHECK(names.insert(name).second);
  }
  CHECK(zp::to_string(static_cast<zp::errc>(last + 1)) == "unknown");
}

TEST_CASE("error: each layer puts its context in front") {
  zp::error failure{zp::errc::corrupt, "frame truncated"};
  failure.at("zstd").at("chunk c/0/1");
  CHECK(failure.message == "chunk c/0/1: zstd: frame truncated");
  const zp::error moved = std::move(failure).at("load \"w\"");
  CHECK(zp::to_string(moved) == "corrupt: load \"w\": chunk c/0/1: zstd: frame truncated");
}

}  // namespace error_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/pickle/pickle_input.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string_view>

namespace pickle_input_test {

using namespace zarrpoint;
using torch::detail::pickle_input;

TEST_CASE("pickle_input: numbers, sized bytes and lines, one behind the other") {
  pickle_input in(as_bytes(std::string_view("\x02\x01\x03xyzposix\nrest")));
  CHECK(in.number<std::uint16_t>().value() == 0x0102);
  CHECK(as_text(in.sized<std::uint8_t>().value()) == "xyz");
  CHECK(in.line().value() == "posix");
  CHECK(in.size() == 4);
  CHECK(as_text(in.take(4).value()) == "rest");
  CHECK(in.size() == 0);
  CHECK(in.take(0).value().empty());
}

TEST_CASE("pickle_input: what ends too soon is an error, and nothing is taken of it") {
  pickle_input in(
      as_bytes(std::string_view("\x05"
                                "abc")));
  CHECK(in.line().failure().code == errc::corrupt);
  CHECK(in.number<std::uint64_t>().failure().code == errc::corrupt);
  CHECK(in.take(UINT64_MAX).failure().code == errc::corrupt);
  CHECK(in.size() == 4);
  CHECK(in.sized<std::uint8_t>().failure().code == errc::corrupt);
}

}  // namespace pickle_input_test

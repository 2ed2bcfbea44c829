// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/torch/torch_store.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <vector>

namespace delayed_blob_test {

using namespace zarrpoint;
using torch::detail::delayed_blob;

TEST_CASE("delayed_blob: the bytes are made when they are read, once, and not for the size") {
  int made = 0;
  const auto bytes = std::make_shared<const std::vector<std::byte>>(
      std::vector<std::byte>{std::byte{1}, std::byte{2}, std::byte{3}});
  const auto make = [&]() -> result<mapping> { return ++made, mapping(*bytes, bytes); };
  const delayed_blob from(3, make, "x");
  CHECK(from.size() == 3);
  std::vector<std::byte> two(2);
  CHECK(from.read(2, two).failure().code == errc::out_of_range);
  CHECK(made == 0);
  from.read(1, two).value();
  CHECK(two == std::vector<std::byte>{std::byte{2}, std::byte{3}});
  CHECK(from.map().value().bytes().data() == bytes->data());
  CHECK(made == 1);
}

TEST_CASE("delayed_blob: what cannot be made, or is of another size, is an error of the read") {
  std::vector<std::byte> one(1);
  const delayed_blob none(
      1,
      []() -> result<mapping> {
        return error{errc::io, "gone"};
      },
      "x");
  CHECK(none.read(0, one).failure().code == errc::io);
  CHECK(none.map().failure().code == errc::io);
  const delayed_blob other(
      1, []() -> result<mapping> { return mapping(); }, "x");
  CHECK(other.read(0, one).failure().code == errc::corrupt);
}

}  // namespace delayed_blob_test

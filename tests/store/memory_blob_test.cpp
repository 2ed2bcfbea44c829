// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/base/blob.hpp>

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace memory_blob_test {

using namespace zarrpoint;

TEST_CASE("memory blob: ranges, a mapping that outlives it, and what lies outside") {
  const std::vector<std::byte> data{std::byte{1}, std::byte{2}, std::byte{3}};
  auto object = std::make_unique<detail::memory_blob>(data, "it");
  CHECK(object->size() == 3);
  CHECK(object->name() == "it");
  std::array<std::byte, 2> two{};
  object->read(1, two).value();
  CHECK(two[1] == std::byte{3});
  CHECK(object->read(2, two).failure().code == errc::out_of_range);
  CHECK(object->read(3, {}));
  const mapping kept = object->map().value();
  object.reset();
  CHECK(std::vector<std::byte>(kept.bytes().begin(), kept.bytes().end()) == data);
}

TEST_CASE("memory blob: bytes that others have, too, live as long as one of them") {
  auto shared = std::make_shared<const std::vector<std::byte>>(5);
  const std::weak_ptr<const std::vector<std::byte>> watched = shared;
  std::optional<detail::memory_blob> object(std::in_place, shared, "it");
  shared.reset();
  CHECK_FALSE(watched.expired());
  object.reset();
  CHECK(watched.expired());
}

}  // namespace memory_blob_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/base/range_blob.hpp>

#include "support/zip_bytes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace range_blob_test {

using namespace zarrpoint;

namespace {

/// A file that tells how often it was mapped, and became shorter since it was opened.
class shrunk_file final : public blob {
 public:
  using blob::read;
  explicit shrunk_file(int& maps) : maps_(maps) {}
  std::uint64_t size() const noexcept override { return 100; }
  result<void> read(std::uint64_t, mutable_bytes) const override { return {}; }
  result<mapping> map() const override {
    ++maps_;
    return mapping(as_bytes(std::string_view("0123456789")), nullptr);
  }
  std::string name() const override { return "shrunk"; }

 private:
  int& maps_;
};

std::string text(bytes_view of) { return {reinterpret_cast<const char*>(of.data()), of.size()}; }

}  // namespace

TEST_CASE("range blob: it reads and maps its part alone") {
  const auto file = std::make_shared<const detail::container_file>(test::blob_of("0123456789"));
  const detail::range_blob part(file, 3, 4, "part");
  CHECK(part.size() == 4);
  CHECK(part.name() == "part");
  std::array<std::byte, 4> bytes{};
  REQUIRE(part.read(0, bytes).has_value());
  CHECK(text(bytes) == "3456");
  CHECK(part.read(1, bytes).failure().code == errc::out_of_range);

  const mutable_bytes into(bytes);
  const std::array requests{read_request{2, into.first(2)}, read_request{0, into.subspan(2, 1)}};
  REQUIRE(part.read(requests).has_value());
  CHECK(text(into.first(3)) == "563");
  const std::array beyond{read_request{0, into.first(1)}, read_request{3, into.first(2)}};
  CHECK(part.read(beyond).failure().code == errc::out_of_range);

  const auto mapped = part.map();
  REQUIRE(mapped.has_value());
  CHECK(text(mapped->bytes()) == "3456");
}

TEST_CASE("range blob: parts share one mapping, which may have become too short") {
  int maps = 0;
  const auto file =
      std::make_shared<const detail::container_file>(std::make_unique<shrunk_file>(maps));
  const detail::range_blob inside(file, 8, 2, "inside");
  const detail::range_blob beyond(file, 9, 2, "beyond");
  CHECK(text(inside.map().value().bytes()) == "89");
  const auto refused = beyond.map();
  REQUIRE(!refused.has_value());
  CHECK(refused.failure().code == errc::corrupt);
  CHECK(refused.failure().message == "map beyond: its file became shorter");
  CHECK(maps == 1);
}

}  // namespace range_blob_test

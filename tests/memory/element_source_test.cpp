// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/element_source.hpp>

#include <doctest/doctest.h>

#include <type_traits>

namespace element_source_test {

using namespace zarrpoint;

namespace {

/// The smallest model: elements on the host, given as they are.
class constant_source final : public element_source {
 public:
  const tensor_spec& spec() const noexcept override { return spec_; }
  std::size_t part_bytes() const override { return 8; }
  const void* lane() const noexcept override { return this; }
  double pin_seconds() const override { return 0; }
  result<std::unique_ptr<source_part>> begin(const box&, bool) override {
    return std::unique_ptr<source_part>();
  }
  result<owned_elements> read(const box& part, memory_resource& resource) override {
    ZARRPOINT_TRY(memory, buffer::allocate(static_cast<std::size_t>(part.shape[0]), resource));
    for (std::byte& b : memory.bytes()) b = std::byte{7};
    const host_view view =
        dense_view(std::as_const(memory).data(), {dtype_kind::uint8, part.shape});
    return owned_elements{view, std::move(memory)};
  }

 private:
  tensor_spec spec_{dtype_kind::uint8, {8}};
};

}  // namespace

TEST_CASE("element_source: parts have memory of their own, and nothing else is needed at once") {
  constant_source source;
  element_source& erased = source;
  const owned_elements read = erased.read(box{{2}, {3}}, default_resource()).value();
  CHECK(read.memory.size() == 3);
  CHECK(read.view.data == read.memory.data());
  CHECK(read.view.data[2] == std::byte{7});
  limited_resource none(1);
  CHECK(erased.read(box{{2}, {3}}, none).failure().code == errc::resource_limit);
  CHECK(erased.copy_in_place().failure().code == errc::unsupported);
  CHECK(erased.settle().has_value());
  CHECK_FALSE(std::is_copy_constructible_v<constant_source>);
}

}  // namespace element_source_test

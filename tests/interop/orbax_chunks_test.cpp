// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/orbax_save/orbax_plan.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace orbax_chunks_test {

using namespace zarrpoint;
namespace od = orbax::detail;

TEST_CASE("orbax chunks: what a device had, and what no process shares") {
  const dims shape{24, 16};
  CHECK(od::largest_chunk(std::nullopt, {}, shape) == std::nullopt);
  CHECK(od::largest_chunk(dims{6, 16}, {}, shape) == dims{6, 16});
  CHECK(od::largest_chunk(std::nullopt, {12, 0}, shape) == dims{12, 16});
  CHECK(od::largest_chunk(dims{8, 4}, {12, 0}, shape) == dims{4, 4});
  CHECK(od::largest_chunk(dims{2, 16}, {17, 0}, shape) == dims{1, 16});
}

TEST_CASE("orbax chunks: a part of Zarr v2 divides a box, unless it would be tiny") {
  const auto part = [](const dims& shape, const dims& unit) {
    return od::part_of_v2({dtype_kind::float32, shape}, unit);
  };
  CHECK(part({8192, 16384}, {8192, 0}) == dims{1024, 16384});
  CHECK(part({8011, 4096}, {8011, 0}) == dims{8011, 4096});
  CHECK(part({8011, 4096}, {0, 4096}) == dims{4006, 4096});
  CHECK(part({7, 3}, {7, 0}) == dims{7, 3});
}

TEST_CASE("orbax chunks: rules of Zarr v2, which must divide what is cut") {
  const tensor_spec spec{dtype_kind::float32, {24, 16}};
  const dims local{12, 16};
  CHECK(od::chunk_of_v2("w", spec, nullptr, {}).value() == spec.shape);
  CHECK(od::chunk_of_v2("w", spec, &local, {}).value() == local);
  CHECK(od::chunk_of_v2("w", spec, &local, {{.chunk_shape = dims{4, 4}}}).value() == dims{4, 4});
  for (const dims& wrong : {dims{4}, dims{0, 4}}) {
    const auto refused = od::chunk_of_v2("w", spec, &local, {{.chunk_shape = wrong}});
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::invalid_argument);
  }
  CHECK(od::check_units({4, 16}, {12, 0}));
  CHECK(od::check_units({5, 16}, {}));
  const auto refused = od::check_units({5, 16}, {12, 0});
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().message.find("multiples of 12") != std::string::npos);
}

TEST_CASE("orbax chunks: many small objects") {
  array_metadata of;
  of.type = dtype_kind::float32;
  of.chunk_shape = {1, 64};
  CHECK(od::are_many_small(of, 16 * 64));
  CHECK_FALSE(od::are_many_small(of, 15 * 64));
  of.chunk_shape = {1, 1 << 14};  // 64 KiB
  CHECK_FALSE(od::are_many_small(of, 1 << 24));
}

}  // namespace orbax_chunks_test

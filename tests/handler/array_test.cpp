// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/handler/types/sequences.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace array_test {

using namespace zarrpoint;

using matrix = std::array<std::array<float, 4>, 3>;

static_assert(loadable<std::array<float, 3>> && loadable<matrix>);
static_assert(loadable<std::array<bool, 3>> && loadable<std::array<std::string, 2>>);
static_assert(savable<float[3][4]> && fillable<float (&)[3][4]> && !loadable<float[3][4]>);
static_assert(!fillable<const matrix&> && !savable<std::array<char, 3>>);
static_assert(!savable<std::array<int*, 3>>);

TEST_CASE("the shape of nested arrays is in their type") {
  matrix values{};
  CHECK(handler_of<matrix>::spec(values) == tensor_spec{dtype_kind::float32, {3, 4}});
  CHECK(handler_of<matrix>::view(values).strides == dims{16, 4});
  CHECK(detail::handler_rank<handler_of<matrix>>() == 2);
  const std::int8_t plain[2][3][5] = {};
  CHECK(handler_of<decltype(plain)>::spec(plain) == tensor_spec{dtype_kind::int8, {2, 3, 5}});
  const std::array<std::int16_t[2], 3> mixed{};
  CHECK(handler_of<decltype(mixed)>::spec(mixed) == tensor_spec{dtype_kind::int16, {3, 2}});
  const std::array<float, 0> none{};
  CHECK(handler_of<decltype(none)>::spec(none) == tensor_spec{dtype_kind::float32, {0}});
}

TEST_CASE("an array is made from its very shape only") {
  using handler = handler_of<matrix>;
  CHECK(handler::make({dtype_kind::float32, {3, 4}}, {}));
  for (const dims& shape : {dims{12}, dims{4, 3}, dims{3, 4, 1}, dims{}}) {
    const auto refused = handler::make({dtype_kind::float32, shape}, {});
    CHECK(refused.failure().code == errc::shape_mismatch);
    CHECK(refused.failure().message == "stored shape is " + to_string(shape) + ", wanted [3, 4]");
  }
  CHECK(handler::make({dtype_kind::int32, {3, 4}}, {}).failure().code == errc::dtype_mismatch);
}

TEST_CASE("an array as a target takes any shape of as many elements") {
  matrix values{};
  CHECK(detail::target_view(values, {dtype_kind::float32, {12}}).value().shape == dims{12});
  CHECK(detail::target_view(values, {dtype_kind::float32, {3, 4}}).value().shape == dims{3, 4});
  CHECK(!detail::target_view(values, {dtype_kind::float32, {13}}));
}

}  // namespace array_test

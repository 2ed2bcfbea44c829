// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/handler/types/sequences.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace span_test {

using namespace zarrpoint;

static_assert(savable<std::span<const float>> && savable<std::span<float, 4>>);
static_assert(!loadable<std::span<float>>);  // owns nothing
static_assert(fillable<std::span<float>> && fillable<const std::span<float>&>);
static_assert(!fillable<std::span<const float>> && !savable<std::span<char>>);

TEST_CASE("a span is a dense array of rank 1") {
  const std::vector<double> values{1, 2, 3};
  const std::span<const double> part(values.data() + 1, 2);
  using handler = handler_of<std::span<const double>>;
  CHECK(handler::spec(part) == tensor_spec{dtype_kind::float64, {2}});
  CHECK(handler::view(part).data == reinterpret_cast<const std::byte*>(&values[1]));
  CHECK(detail::handler_is_view<handler>());
}

TEST_CASE("a span as a target takes any shape of as many elements") {
  std::vector<std::int16_t> values(12);
  const std::span<std::int16_t> all(values);
  const auto cube = detail::target_view(all, {dtype_kind::int16, {2, 2, 3}}).value();
  CHECK(cube.strides == dims{12, 6, 2});
  CHECK(detail::target_view(all.first(1), {dtype_kind::int16, {}}).value().rank() == 0);
  CHECK(detail::target_view(all.first(0), {dtype_kind::int16, {4, 0}}).value().shape == dims{4, 0});
  CHECK(detail::target_view(all, {dtype_kind::int16, {13}}).failure().code == errc::shape_mismatch);
  // A stored shape that overflows has no count, and no target fits.
  const index_t huge = index_t{1} << 40;
  CHECK(detail::target_view(all, {dtype_kind::int16, {huge, huge}}).failure().code ==
        errc::shape_mismatch);
}

TEST_CASE("the dtype of a target is left to the caller, who may cast") {
  std::vector<float> values(2);
  const auto view = detail::target_view(std::span(values), {dtype_kind::float64, {2}}).value();
  CHECK(view.type == dtype_kind::float32);
}

}  // namespace span_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/handler/types/mdspan.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include <doctest/doctest.h>

#include <array>

namespace mdspan_test {

using namespace zarrpoint;

namespace {

/// What the structural handler asks of an mdspan, and no more; tests/handler/mdspan_libraries.cpp
/// takes those of real libraries.
template <class T, bool PlainPointers = true>
struct small_mdspan {
  using element_type = T;
  using reference = std::conditional_t<PlainPointers, T&, T>;
  T* first = nullptr;
  std::array<int, 2> extents{};
  std::array<int, 2> steps{};
  bool strided = true;

  static constexpr std::size_t rank() { return 2; }
  int extent(std::size_t i) const { return extents[i]; }
  int stride(std::size_t i) const { return steps[i]; }
  bool is_strided() const { return strided; }
  T* data_handle() const { return first; }
};

/// Declares `stride`, as any mdspan, for a mapping that has none.
struct no_strides : small_mdspan<float> {
  struct mapping_type {};
};

static_assert(savable<small_mdspan<const float>> && !fillable<small_mdspan<const float>&>);
static_assert(fillable<small_mdspan<float>> && fillable<const small_mdspan<float>&>);
static_assert(!loadable<small_mdspan<float>>);
static_assert(!savable<small_mdspan<float, false>>);  // its accessor computes the elements
static_assert(!savable<small_mdspan<char>>);
static_assert(!savable<no_strides>);

}  // namespace

TEST_CASE("an mdspan keeps its extents and strides") {
  std::array<double, 12> values{};
  const small_mdspan<double> columns{values.data() + 1, {2, 3}, {1, 4}};
  using handler = handler_of<small_mdspan<double>>;
  CHECK(handler::spec(columns).value() == tensor_spec{dtype_kind::float64, {2, 3}});
  const host_view view = handler::view(columns);
  CHECK(view.data == reinterpret_cast<const std::byte*>(&values[1]));
  CHECK(view.strides == dims{8, 32});
  CHECK(detail::handler_is_view<handler>());
  CHECK(detail::target_view(columns, {dtype_kind::float64, {2, 3}}).value().strides == dims{8, 32});
  CHECK(!detail::target_view(columns, {dtype_kind::float64, {6}}));
  // Elements of none share an address: strides of 0 are as good as others.
  const small_mdspan<double> none{nullptr, {3, 0}, {0, 1}};
  CHECK(detail::target_view(none, {dtype_kind::float64, {3, 0}}).value().shape == dims{3, 0});
  const small_mdspan<double> shared{values.data(), {3, 1}, {0, 1}};
  CHECK(!detail::target_view(shared, {dtype_kind::float64, {3, 1}}));
}

TEST_CASE("an mdspan that is not strided is refused, as a source and as a target") {
  std::array<float, 4> values{};
  const small_mdspan<float> tiled{values.data(), {2, 2}, {0, 0}, false};
  using handler = handler_of<small_mdspan<float>>;
  CHECK(handler::spec(tiled).failure().code == errc::invalid_argument);
  CHECK(detail::target_view(tiled, {dtype_kind::float32, {2, 2}}).failure().message ==
        "the mdspan has a layout without strides: copy it to a strided one");
}

}  // namespace mdspan_test

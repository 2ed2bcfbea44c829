// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/handler/types/mdspan.hpp>
#include <zarrpoint/handler/types/type_handler.hpp>

#include <doctest/doctest.h>

#if __has_include(<cuda/std/mdspan>)
#include <cuda/std/mdspan>
#endif

#include <array>

namespace mdspan_test {

using namespace zarrpoint;

namespace {

/// What the structural handler asks of an mdspan, and no more.
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

static_assert(savable<small_mdspan<const float>> && !fillable<small_mdspan<const float>&>);
static_assert(fillable<small_mdspan<float>> && fillable<const small_mdspan<float>&>);
static_assert(!loadable<small_mdspan<float>>);
static_assert(!savable<small_mdspan<float, false>>);  // its accessor computes the elements
static_assert(!savable<small_mdspan<char>>);

}  // namespace

TEST_CASE("an mdspan keeps its extents and strides") {
  std::array<double, 12> values{};
  const small_mdspan<double> columns{values.data() + 1, {2, 3}, {1, 4}};
  using handler = handler_of<small_mdspan<double>>;
  CHECK(handler::spec(columns).value() == tensor_spec{dtype_kind::float64, {2, 3}});
  const host_view view = handler::view(columns);
  CHECK(view.data == reinterpret_cast<const std::byte*>(&values[1]));
  CHECK(view.strides == dims{8, 32});
  CHECK(handler_is_view<handler>());
  CHECK(target_view(columns, {dtype_kind::float64, {2, 3}}).value().strides == dims{8, 32});
  CHECK(!target_view(columns, {dtype_kind::float64, {6}}));
}

TEST_CASE("an mdspan that is not strided is refused, as a source and as a target") {
  std::array<float, 4> values{};
  const small_mdspan<float> tiled{values.data(), {2, 2}, {0, 0}, false};
  using handler = handler_of<small_mdspan<float>>;
  CHECK(handler::spec(tiled).failure().code == errc::invalid_argument);
  CHECK(target_view(tiled, {dtype_kind::float32, {2, 2}}).failure().message ==
        "an mdspan whose layout is not strided");
}

#if __has_include(<cuda/std/mdspan>)
TEST_CASE("the mdspan of the CUDA toolkit is one") {
  namespace std_like = cuda::std;
  using rows = std_like::mdspan<const float, std_like::extents<int, 3, std_like::dynamic_extent>>;
  using columns = std_like::mdspan<float, std_like::dextents<int, 2>, std_like::layout_left>;
  using strided = std_like::mdspan<float, std_like::dextents<int, 2>, std_like::layout_stride>;
  static_assert(savable<rows> && !fillable<rows> && fillable<columns> && fillable<strided>);
  std::array<float, 12> values{};
  CHECK(handler_of<rows>::view(rows(values.data(), 4)).strides == dims{16, 4});
  CHECK(handler_of<columns>::view(columns(values.data(), 3, 4)).strides == dims{4, 12});
  const strided part(values.data(), strided::mapping_type(std_like::dextents<int, 2>(2, 2),
                                                          std_like::array<int, 2>{6, 2}));
  CHECK(handler_of<strided>::spec(part).value() == tensor_spec{dtype_kind::float32, {2, 2}});
  CHECK(handler_of<strided>::view(part).strides == dims{24, 8});
}
#endif

}  // namespace mdspan_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/tensor_view.hpp>

#include "support/random_layout.hpp"

#include <doctest/doctest.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace tensor_view_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

TEST_CASE("dense_view: row-major, of the constness of the pointer") {
  std::vector<std::int16_t> data(6);
  auto* const bytes = reinterpret_cast<std::byte*>(data.data());
  const zp::tensor_spec spec{zp::dtype_kind::int16, {2, 3}};
  const zp::mutable_host_view view = zp::dense_view(bytes, spec);
  CHECK(view.strides == zp::dims{6, 2});
  CHECK(view.spec() == spec);
  CHECK(view.rank() == 2);
  static_assert(std::is_same_v<decltype(zp::dense_view(static_cast<const std::byte*>(bytes), spec)),
                               zp::host_view>);
  const zp::host_view same = zp::as_const(view);
  CHECK(same.data == view.data);
  CHECK(same.strides == view.strides);
  CHECK(zp::memory_size(zp::dtype_kind::string) == sizeof(std::string));
  CHECK(zp::memory_size(zp::dtype_kind::complex64) == 8);
}

TEST_CASE("is_dense: against the places of the elements") {
  random_source random(8);
  int dense = 0;
  for (int n = 0; n < 2000; ++n) {
    const zp::dims shape = random_shape(random, 4, 3);
    const layout place = random_layout(random, shape, 2, true);
    const zp::host_view view{nullptr, zp::dtype_kind::int16, shape, place.strides, {}, {}};
    bool expected = true;
    zp::index_t next = 0;
    for_each_coordinate(shape, [&](const zp::dims& at) {
      expected = expected && offset_of(at, place.strides) == next;
      next += 2;
    });
    CAPTURE(zp::to_string(shape));
    CAPTURE(zp::to_string(place.strides));
    REQUIRE(zp::is_dense(view) == expected);
    dense += expected;
  }
  CHECK(dense > 100);
  CHECK(dense < 1900);
}

TEST_CASE("subview: element i of the part is element offset + i * step of the whole") {
  random_source random(9);
  for (int n = 0; n < 1000; ++n) {
    const zp::dims shape = random_shape(random, 4, 6);
    const layout place = random_layout(random, shape, 4, true);
    const std::vector<std::byte> data = random_bytes(random, place.size);
    const zp::host_view view{
        data.data() + place.first, zp::dtype_kind::float32, shape, place.strides, {}, {}};
    zp::selection part;
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      const auto extent = static_cast<std::size_t>(shape[i]);
      const std::size_t offset = pick(random, extent + 1);
      const std::size_t step = 1 + pick(random, 3);
      const std::size_t most = (extent - offset + step - 1) / step;
      part.offset.push_back(static_cast<zp::index_t>(offset));
      part.step.push_back(static_cast<zp::index_t>(step));
      part.shape.push_back(static_cast<zp::index_t>(pick(random, most + 1)));
    }
    REQUIRE(part.check(shape));
    const zp::host_view actual = zp::subview(view, part);
    REQUIRE(actual.shape == part.shape);
    for_each_coordinate(part.shape, [&](const zp::dims& at) {
      zp::dims whole = at;
      for (std::size_t i = 0; i < at.rank(); ++i) whole[i] = part.offset[i] + at[i] * part.step[i];
      REQUIRE(actual.data + offset_of(at, actual.strides) ==
              view.data + offset_of(whole, view.strides));
    });
  }
}

TEST_CASE("subview: of nothing, and of one element by any step, without arithmetic on them") {
  const zp::tensor_spec empty{zp::dtype_kind::float64, {0, INT64_MAX, INT64_MAX}};
  const zp::host_view none = zp::dense_view(static_cast<const std::byte*>(nullptr), empty);
  const zp::selection nothing({0, INT64_MAX - 1, 5}, {0, 1, 1}, {1, 1, 1});
  REQUIRE(nothing.check(empty.shape));
  CHECK(zp::subview(none, nothing).shape == nothing.shape);
  CHECK(zp::subview(none, nothing).data == nullptr);
  CHECK(zp::is_dense(none));

  const double value = 1;
  const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
  const zp::host_view one = zp::dense_view(bytes, {zp::dtype_kind::float64, {1}});
  CHECK(zp::subview(one, zp::selection({0}, {1}, {INT64_MAX})).data == bytes);
}

TEST_CASE("a writable view is a view") {
  double value = 1;
  const zp::mutable_host_view writable =
      zp::dense_view(reinterpret_cast<std::byte*>(&value), {zp::dtype_kind::float64, {1}});
  const zp::host_view view = writable;
  CHECK(view.data == writable.data);
  CHECK(view.spec() == writable.spec());
  CHECK(view.strides == writable.strides);
  static_assert(!std::convertible_to<zp::host_view, zp::mutable_host_view>);
}

}  // namespace tensor_view_test

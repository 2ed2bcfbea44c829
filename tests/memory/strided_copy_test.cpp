// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/memory/strided_copy.hpp>

#include "support/random_layout.hpp"
#include "support/random_rounds.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

namespace strided_copy_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

/// One dtype for each size of element.
constexpr zp::dtype_kind sized_kinds[] = {zp::dtype_kind::uint8, zp::dtype_kind::bfloat16,
                                          zp::dtype_kind::float32, zp::dtype_kind::complex64,
                                          zp::dtype_kind::complex128};

void naive_copy(const zp::mutable_host_view& to, const zp::host_view& from) {
  for_each_coordinate(to.shape, [&](const zp::dims& at) {
    std::memcpy(to.data + offset_of(at, to.strides), from.data + offset_of(at, from.strides),
                to.type.size());
  });
}

void check_random_copies(int cases, std::size_t max_rank, std::size_t max_extent) {
  random_source random(max_extent);
  for (int n = 0; n < cases; ++n) {
    const zp::dtype type = sized_kinds[pick(random, std::size(sized_kinds))];
    const zp::dims shape = random_shape(random, max_rank, max_extent);
    const layout source = random_layout(random, shape, type.size(), true);
    const layout target = random_layout(random, shape, type.size());
    const std::vector<std::byte> from = random_bytes(random, source.size);
    std::vector<std::byte> expected = random_bytes(random, target.size);
    std::vector<std::byte> actual = expected;
    const zp::host_view view{from.data() + source.first, type, shape, source.strides, {}, {}};
    naive_copy({expected.data() + target.first, type, shape, target.strides, {}, {}}, view);
    zp::copy_elements({actual.data() + target.first, type, shape, target.strides, {}, {}}, view);
    CAPTURE(n);
    CAPTURE(zp::to_string(zp::tensor_spec{type, shape}));
    CAPTURE(zp::to_string(target.strides));
    CAPTURE(zp::to_string(source.strides));
    REQUIRE(expected == actual);
  }
}

}  // namespace

TEST_CASE("copy_elements: random shapes and strides against the naive copy") {
  check_random_copies(4000, 5, 6);
}

TEST_CASE("copy_elements: random matrices of several tiles against the naive copy") {
  check_random_copies(random_rounds(60), 3, 150);
}

TEST_CASE("copy_elements: transposes of every element size, whole and broken tiles") {
  for (const zp::dtype_kind kind : sized_kinds) {
    const zp::dtype type(kind);
    for (const zp::index_t extra : {0, 1, 5}) {
      const zp::dims shape{128 + extra, 192 + extra};
      const auto element = static_cast<zp::index_t>(type.size());
      const std::size_t bytes = zp::byte_count(shape, type.size()).value();
      random_source random(1);
      const std::vector<std::byte> from = random_bytes(random, bytes);
      std::vector<std::byte> to(bytes);
      const zp::dims column_major{element, element * shape[0]};
      const zp::host_view source{from.data(), type, shape, column_major, {}, {}};
      zp::copy_elements(zp::dense_view(to.data(), {type, shape}), source);
      for_each_coordinate(shape, [&](const zp::dims& at) {
        const zp::dims strides = zp::row_major_strides(shape, type.size());
        if (std::memcmp(to.data() + offset_of(at, strides),
                        from.data() + offset_of(at, column_major), type.size()) != 0)
          FAIL("element ", zp::to_string(at), " of ", std::string(zp::to_string(type)));
      });
    }
  }
}

TEST_CASE("copy_elements: rank 0, no elements, and the largest rank") {
  float from = 1.5F;
  float to = 0;
  const auto bytes = [](float& value) { return reinterpret_cast<std::byte*>(&value); };
  const zp::tensor_spec scalar{zp::dtype_kind::float32, {}};
  zp::copy_elements(zp::dense_view(bytes(to), scalar),
                    zp::as_const(zp::dense_view(bytes(from), scalar)));
  CHECK(to == 1.5F);

  const zp::tensor_spec empty{zp::dtype_kind::float32, {3, 0, 2}};
  zp::copy_elements(zp::dense_view(static_cast<std::byte*>(nullptr), empty),
                    zp::dense_view(static_cast<const std::byte*>(nullptr), empty));

  zp::dims shape(zp::max_rank, 1);
  for (std::size_t i = 0; i < shape.rank(); i += 3) shape[i] = 2;
  zp::dims reversed(shape.rank(), 0);
  zp::index_t stride = 2;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    reversed[i] = stride;
    stride *= shape[i];
  }
  random_source random(2);
  const std::vector<std::byte> source = random_bytes(random, static_cast<std::size_t>(stride));
  std::vector<std::byte> expected(source.size());
  std::vector<std::byte> actual(source.size());
  const zp::host_view view{source.data(), zp::dtype_kind::uint16, shape, reversed, {}, {}};
  naive_copy(zp::dense_view(expected.data(), view.spec()), view);
  zp::copy_elements(zp::dense_view(actual.data(), view.spec()), view);
  CHECK(expected == actual);
}

TEST_CASE("copy_elements: strings are assigned, whatever their strides") {
  const std::vector<std::string> from = {"a", "",  "a string too long to be stored in place",
                                         "d", "e", "f"};
  std::vector<std::string> to(6, "old");
  const auto size = static_cast<zp::index_t>(sizeof(std::string));
  const zp::dims shape{2, 3};
  const zp::host_view source{reinterpret_cast<const std::byte*>(&from[5]),
                             zp::dtype_kind::string,
                             shape,
                             {-3 * size, -size},
                             {},
                             {}};
  const zp::mutable_host_view target{
      reinterpret_cast<std::byte*>(to.data()), source.type, shape, {size, 2 * size}, {}, {}};
  zp::copy_elements(target, source);
  CHECK(to == std::vector<std::string>{"f", from[2], "e", "", "d", "a"});
}

TEST_CASE("fill_elements: random boxes against the naive fill") {
  random_source random(5);
  for (int n = 0; n < random_rounds(1500); ++n) {
    const zp::dtype type = sized_kinds[pick(random, std::size(sized_kinds))];
    const zp::dims shape = random_shape(random, 4, n % 50 == 0 ? 90 : 7);
    const layout target = random_layout(random, shape, type.size());
    const std::vector<std::byte> element =
        n % 3 == 0 ? std::vector<std::byte>(type.size()) : random_bytes(random, type.size());
    std::vector<std::byte> expected = random_bytes(random, target.size);
    std::vector<std::byte> actual = expected;
    for_each_coordinate(shape, [&](const zp::dims& at) {
      std::memcpy(
          expected.data() + static_cast<zp::index_t>(target.first) + offset_of(at, target.strides),
          element.data(), element.size());
    });
    zp::fill_elements({actual.data() + target.first, type, shape, target.strides, {}, {}}, element);
    REQUIRE(expected == actual);
  }
}

TEST_CASE("all_equal: true after a fill, false when any one element differs in any bit") {
  random_source random(6);
  for (int n = 0; n < 1500; ++n) {
    const zp::dtype type = sized_kinds[pick(random, std::size(sized_kinds))];
    const zp::dims shape = random_shape(random, 4, 7);
    const layout target = random_layout(random, shape, type.size());
    const std::vector<std::byte> element = random_bytes(random, type.size());
    std::vector<std::byte> data = random_bytes(random, target.size);
    const zp::mutable_host_view view{
        data.data() + target.first, type, shape, target.strides, {}, {}};
    zp::fill_elements(view, element);
    REQUIRE(zp::detail::all_equal(zp::as_const(view), element));
    if (zp::element_count(shape).value() == 0) continue;
    zp::index_t offset = 0;
    for (std::size_t i = 0; i < shape.rank(); ++i)
      offset += view.strides[i] *
                static_cast<zp::index_t>(pick(random, static_cast<std::size_t>(shape[i])));
    view.data[offset + static_cast<zp::index_t>(pick(random, type.size()))] ^= std::byte{0x10};
    REQUIRE_FALSE(zp::detail::all_equal(zp::as_const(view), element));
  }
}

TEST_CASE("all_equal: is about bits, so that -0 is not 0 and a NaN is itself") {
  const std::vector<double> zeros = {0.0, -0.0};
  const zp::tensor_spec spec{zp::dtype_kind::float64, {2}};
  const auto* const data = reinterpret_cast<const std::byte*>(zeros.data());
  CHECK_FALSE(zp::detail::all_equal(zp::dense_view(data, spec), {data, 8}));
  const std::vector<double> nans(2, __builtin_nan("5"));
  const auto* const nan_data = reinterpret_cast<const std::byte*>(nans.data());
  CHECK(zp::detail::all_equal(zp::dense_view(nan_data, spec), {nan_data, 8}));
}

TEST_CASE("fill_elements and all_equal: strings take the text") {
  std::vector<std::string> texts(6, "x");
  const zp::mutable_host_view view =
      zp::dense_view(reinterpret_cast<std::byte*>(texts.data()), {zp::dtype_kind::string, {2, 3}});
  zp::fill_elements(zp::subview(view, zp::box{{0, 1}, {2, 2}}), zp::as_bytes("fill"));
  CHECK(texts == std::vector<std::string>{"x", "fill", "fill", "x", "fill", "fill"});
  CHECK_FALSE(zp::detail::all_equal(zp::as_const(view), zp::as_bytes("fill")));
  CHECK(zp::detail::all_equal(zp::as_const(zp::subview(view, zp::box{{0, 1}, {2, 2}})),
                              zp::as_bytes("fill")));
}

}  // namespace strided_copy_test

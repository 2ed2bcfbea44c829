// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/shard/local_only.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <string>

namespace same_bits_test {

using namespace zarrpoint;

template <class T, std::size_t N>
host_view view(const std::array<T, N>& values, const dims& shape) {
  return dense_view(reinterpret_cast<const std::byte*>(values.data()), {dtype_of<T>, shape});
}

TEST_CASE("dtype, shape and every bit count, strides do not") {
  const std::array<float, 6> rows{1, 2, 3, 4, 5, 6};
  const std::array<float, 6> columns{1, 4, 2, 5, 3, 6};
  host_view transposed = view(columns, {2, 3});
  transposed.strides = {4, 8};
  CHECK(detail::same_bits(view(rows, {2, 3}), transposed));
  CHECK(detail::same_bits(transposed, view(rows, {2, 3})));
  CHECK_FALSE(detail::same_bits(view(rows, {2, 3}), view(columns, {2, 3})));
  CHECK_FALSE(detail::same_bits(view(rows, {2, 3}), view(rows, {3, 2})));
  CHECK_FALSE(detail::same_bits(view(rows, {6}), view(std::array<std::int32_t, 6>{}, {6})));

  std::array<float, 6> last = rows;
  last.back() = 7;
  CHECK_FALSE(detail::same_bits(view(rows, {6}), view(last, {6})));
  CHECK(detail::same_bits(view(rows, {5}), view(last, {5})));
  CHECK(detail::same_bits(view(rows, {0, 3}), view(last, {0, 3})));
}

TEST_CASE("a NaN equals the same NaN, and zeros have a sign") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(detail::same_bits(view(std::array{nan}, {}), view(std::array{nan}, {})));
  CHECK_FALSE(detail::same_bits(view(std::array{nan}, {}), view(std::array{-nan}, {})));
  CHECK_FALSE(detail::same_bits(view(std::array{0.0}, {}), view(std::array{-0.0}, {})));
}

TEST_CASE("strings are compared as text") {
  tensor a = tensor::make({dtype_kind::string, {2}}).value();
  tensor b = tensor::make({dtype_kind::string, {2}}).value();
  a.data<std::string>()[1] = b.data<std::string>()[1] = std::string(100, 'x');
  CHECK(detail::same_bits(a.view(), b.view()));
  b.data<std::string>()[1] += 'y';
  CHECK_FALSE(detail::same_bits(a.view(), b.view()));
}

}  // namespace same_bits_test

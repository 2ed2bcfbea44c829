// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/zfp/zfp_elements.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace zfp_elements_test {

namespace zp = zarrpoint;

/// All values of `T`.
template <class T>
void check_all_values() {
  std::vector<T> all;
  for (int i = std::numeric_limits<T>::min(); i <= std::numeric_limits<T>::max(); ++i)
    all.push_back(static_cast<T>(i));
  const zp::tensor_spec spec{zp::dtype_of<T>, {static_cast<zp::index_t>(all.size())}};
  const auto* const bytes = reinterpret_cast<const std::byte*>(all.data());
  zp::buffer held;
  const auto data =
      zp::detail::elements_for_zfp(zp::dense_view(bytes, spec), held, zp::default_resource());
  REQUIRE(data);
  std::vector<std::int32_t> wide(all.size());
  std::memcpy(wide.data(), *data, wide.size() * sizeof(std::int32_t));
  // In equal steps from half of the lowest int32 on: what zfp adds up needs room.
  CHECK(wide.front() == std::numeric_limits<std::int32_t>::min() / 2);
  const auto step = std::int64_t{1} << (31 - 8 * sizeof(T));
  for (std::size_t i = 1; i < wide.size(); ++i)
    REQUIRE(std::int64_t{wide[i]} - wide[i - 1] == step);
  std::vector<T> back(all.size());
  auto* const to = reinterpret_cast<std::byte*>(back.data());
  zp::detail::elements_from_zfp(zp::dense_view(to, spec),
                                {reinterpret_cast<std::byte*>(wide.data()), wide.size() * 4});
  CHECK(back == all);
}

TEST_CASE("zfp_elements: small integers are the upper bits of an int32, and come back") {
  check_all_values<std::int8_t>();
  check_all_values<std::uint8_t>();
  check_all_values<std::int16_t>();
  check_all_values<std::uint16_t>();
}

TEST_CASE("zfp_elements: dense ones are not copied, and others are") {
  const float numbers[] = {0, 1, 2, 3, 4, 5};
  const zp::tensor_spec spec{zp::dtype_kind::float32, {2, 3}};
  const auto* const bytes = reinterpret_cast<const std::byte*>(numbers);
  zp::buffer held;
  CHECK(zp::detail::elements_for_zfp(zp::dense_view(bytes, spec), held, zp::default_resource())
            .value() == bytes);
  zp::host_view turned = zp::dense_view(bytes, spec);
  turned.shape = {3, 2};
  turned.strides = {4, 12};
  const std::byte* const copy =
      zp::detail::elements_for_zfp(turned, held, zp::default_resource()).value();
  const float expected[] = {0, 3, 1, 4, 2, 5};
  CHECK(std::memcmp(copy, expected, sizeof expected) == 0);
}

TEST_CASE("zfp_elements: the highest bit of an unsigned integer is that of the sign") {
  const std::uint64_t high[] = {1, std::uint64_t{1} << 63};
  const zp::tensor_spec spec{zp::dtype_kind::uint64, {2}};
  zp::buffer held;
  const auto refused = zp::detail::elements_for_zfp(
      zp::dense_view(reinterpret_cast<const std::byte*>(high), spec), held, zp::default_resource());
  CHECK(refused.failure().code == zp::errc::out_of_range);
  // What a lossy mode has made negative is zero.
  std::int64_t from[] = {-1, 5};
  std::uint64_t to[] = {9, 9};
  zp::detail::elements_from_zfp(zp::dense_view(reinterpret_cast<std::byte*>(to), spec),
                                {reinterpret_cast<std::byte*>(from), sizeof from});
  CHECK(to[0] == 0);
  CHECK(to[1] == 5);
}

}  // namespace zfp_elements_test

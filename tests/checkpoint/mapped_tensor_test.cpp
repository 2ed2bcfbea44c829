// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/load/mapped_tensor.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <numeric>

namespace mapped_tensor_test {

using namespace zarrpoint;

TEST_CASE("over a tensor of its own") {
  tensor owned = tensor::make({dtype_kind::int32, {2, 3}}).value();
  std::iota(owned.data<std::int32_t>().begin(), owned.data<std::int32_t>().end(), 0);
  const mapped_tensor<std::int32_t> one(std::move(owned));
  const mapped_tensor<std::int32_t> copy = one;
  CHECK(copy.shape() == dims{2, 3});
  CHECK(copy.size() == 6);
  CHECK(copy[5] == 5);
  CHECK(copy.data() == one.data());
  CHECK(std::accumulate(copy.begin(), copy.end(), 0) == 15);
  CHECK(copy.elements().size() == 6);
  CHECK_FALSE(copy.is_zero_copy());
}

TEST_CASE("over a mapping, which lives as long as the last copy") {
  auto memory =
      std::make_shared<std::array<std::int16_t, 4>>(std::array<std::int16_t, 4>{1, 2, 3, 4});
  const std::weak_ptr<void> watched = memory;
  const bytes_view bytes = std::as_bytes(std::span(*memory));
  auto view = std::make_unique<mapped_tensor<std::int16_t>>(mapped_view{
      dense_view(bytes.data(), {dtype_kind::int16, {4}}), mapping(bytes, std::move(memory))});
  const auto copy = std::make_unique<mapped_tensor<std::int16_t>>(*view);
  view.reset();
  CHECK(copy->is_zero_copy());
  CHECK((*copy)[3] == 4);
  CHECK_FALSE(watched.expired());
}

}  // namespace mapped_tensor_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/save/plan_layout.hpp>

#include <doctest/doctest.h>

#include <random>

namespace chunk_shape_test {

using namespace zarrpoint;

namespace {

tensor_spec f32(dims shape) { return {dtype_kind::float32, shape}; }

/// The definition: the inner chunks, one after another in grid order, are the tensor itself, but
/// for padding behind the last element.
bool is_contiguous(const dims& shape, const dims& chunk) {
  std::size_t axis = 0;
  while (axis < shape.rank() && chunk[axis] == 1) ++axis;
  if (axis == shape.rank()) return true;
  for (std::size_t i = axis + 1; i < shape.rank(); ++i) {
    if (chunk[i] != shape[i]) return false;
  }
  bool leading = true;
  for (std::size_t i = 0; i < axis; ++i) leading = leading && shape[i] == 1;
  return leading || shape[axis] % chunk[axis] == 0;
}

}  // namespace

TEST_CASE("contiguous chunks cut the leading axis first") {
  CHECK(detail::contiguous_chunk_shape(f32({1024, 1024})) == dims{256, 1024});
  CHECK(detail::contiguous_chunk_shape(f32({1000, 1000})) == dims{250, 1000});
  CHECK(detail::contiguous_chunk_shape(f32({10, 10})) == dims{10, 10});
  CHECK(detail::contiguous_chunk_shape(f32({})) == dims{});
  CHECK(detail::contiguous_chunk_shape(f32({0, 3})) == dims{1, 3});
  CHECK(detail::contiguous_chunk_shape(f32({1 << 22})) == dims{1 << 18});
  CHECK(detail::contiguous_chunk_shape(f32({1, 1 << 22})) == dims{1, 1 << 18});
}

TEST_CASE("a later axis is cut into equal parts, or not at all") {
  CHECK(detail::contiguous_chunk_shape(f32({4, 1 << 20})) == dims{1, 1 << 18});
  // 1,000,003 is prime: rows of 4 MB stay whole rather than become chunks of one element.
  CHECK(detail::contiguous_chunk_shape(f32({4, 1000003})) == dims{1, 1000003});
}

TEST_CASE("contiguous chunks are contiguous, whatever the shape") {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    dims shape;
    const std::size_t rank = random() % 5;
    for (std::size_t i = 0; i < rank; ++i) shape.push_back(static_cast<index_t>(1 + random() % 40));
    const std::uint64_t target = 1 + random() % 5000;
    const dims chunk = detail::contiguous_chunk_shape(f32(shape), target);
    CAPTURE(to_string(shape));
    CAPTURE(to_string(chunk));
    CAPTURE(target);
    REQUIRE(chunk.rank() == shape.rank());
    for (std::size_t i = 0; i < rank; ++i) CHECK((chunk[i] >= 1 && chunk[i] <= shape[i]));
    CHECK(is_contiguous(shape, chunk));
  }
}

TEST_CASE("the greedy rule gives Orbax's golden values") {
  CHECK(detail::greedy_chunk_shape(f32({1024, 1024}), {1024, 1024}, 65536).value() ==
        dims{128, 128});
  CHECK(detail::greedy_chunk_shape(f32({8, 1000, 64}), {4, 1000, 64}, 100000).value() ==
        dims{1, 250, 64});
  CHECK(detail::greedy_chunk_shape(f32({7, 7}), {7, 7}, 48).value() == dims{1, 7});
}

TEST_CASE("the greedy rule divides the write shape and meets the target where it can") {
  std::mt19937 random(11);
  for (int round = 0; round < 1000; ++round) {
    dims global;
    dims write;
    for (std::size_t i = 0; i < 1 + random() % 3; ++i) {
      const auto extent = static_cast<index_t>(1 + random() % 60);
      global.push_back(extent * static_cast<index_t>(1 + random() % 3));
      write.push_back(extent);
    }
    const std::uint64_t target = 4 + random() % 4000;
    const dims chunk = detail::greedy_chunk_shape(f32(global), write, target).value();
    for (std::size_t i = 0; i < write.rank(); ++i) CHECK(write[i] % chunk[i] == 0);
    CHECK(byte_count(chunk, 4).value() <= target);
  }
}

TEST_CASE("a target below one element is refused") {
  const auto refused = detail::greedy_chunk_shape(f32({4}), {4}, 3);
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == errc::invalid_argument);
  CHECK(refused.failure().message.find("is less than one element, which takes 4 bytes") !=
        std::string::npos);
  CHECK_FALSE(detail::greedy_chunk_shape(f32({4}), {4, 1}, 64));
}

}  // namespace chunk_shape_test

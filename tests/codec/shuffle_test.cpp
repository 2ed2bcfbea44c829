// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/kit/shuffle.hpp>

#include "support/random_layout.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace shuffle_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

using bytes = std::vector<std::byte>;
using kernel = void (*)(zp::mutable_bytes, zp::bytes_view, std::size_t);

bytes raw(std::initializer_list<int> values) {
  bytes out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

bytes through(kernel f, const bytes& from, std::size_t type_size) {
  bytes out(from.size(), std::byte{0xee});
  f(out, from, type_size);
  return out;
}

/// The definitions, bit by bit.
bytes shuffled_by_definition(const bytes& from, std::size_t type_size) {
  bytes out = from;
  const std::size_t n = from.size() / type_size;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < type_size; ++j) out[j * n + i] = from[i * type_size + j];
  }
  return out;
}
bytes bit_shuffled_by_definition(const bytes& from, std::size_t type_size) {
  bytes out = from;
  const std::size_t n = from.size() / type_size;
  if (n % 8 != 0) return out;
  for (std::size_t b = 0; b < n * type_size; ++b) out[b] = {};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t bit = 0; bit < 8 * type_size; ++bit) {
      const bool set = (from[i * type_size + bit / 8] >> bit % 8 & std::byte{1}) != std::byte{};
      if (set) out[bit * (n / 8) + i / 8] |= std::byte{1} << i % 8;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("shuffle: bytes that c-blosc made") {
  const bytes values = raw({1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 0, 0x80});
  CHECK(through(zp::detail::bit_shuffle, values, 2) ==
        raw({0x55, 0x66, 0x78, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80}));
  CHECK(through(zp::detail::byte_shuffle, raw({1, 2, 3, 4, 5, 6, 7}), 3) ==
        raw({1, 4, 2, 5, 3, 6, 7}));
}

TEST_CASE("shuffle: as defined, and back, for every element size and number of elements") {
  random_source random(5);
  for (const std::size_t type_size : {1u, 2u, 3u, 4u, 5u, 6u, 8u, 10u, 12u, 16u, 17u, 24u, 255u}) {
    for (const std::size_t count : {0u, 1u, 2u, 7u, 8u, 9u, 15u, 16u, 17u, 33u, 64u, 72u, 130u}) {
      for (const std::size_t tail : {std::size_t{0}, type_size / 2}) {
        CAPTURE(type_size);
        CAPTURE(count);
        const bytes original = random_bytes(random, count * type_size + tail);
        const bytes by_bytes = shuffled_by_definition(original, type_size);
        CHECK(through(zp::detail::byte_shuffle, original, type_size) == by_bytes);
        CHECK(through(zp::detail::byte_unshuffle, by_bytes, type_size) == original);
        const bytes by_bits = bit_shuffled_by_definition(original, type_size);
        CHECK(through(zp::detail::bit_shuffle, original, type_size) == by_bits);
        CHECK(through(zp::detail::bit_unshuffle, by_bits, type_size) == original);
      }
    }
  }
}

TEST_CASE("shuffle: much of it, to places that are aligned and that are not") {
  random_source random(6);
  for (const std::size_t type_size : {2u, 4u, 8u, 16u}) {
    const bytes original = random_bytes(random, (std::size_t{300} << 10) + 5);
    const bytes planes = shuffled_by_definition(original, type_size);
    std::vector<std::byte> memory(original.size() + 64, std::byte{0xee});
    for (const std::size_t offset : {0u, 1u, 16u, 24u}) {
      const auto misplaced = reinterpret_cast<std::uintptr_t>(memory.data()) % 16;
      const std::size_t at = 16 - misplaced + offset;
      const zp::mutable_bytes to = zp::mutable_bytes(memory).subspan(at, original.size());
      zp::detail::byte_unshuffle(to, planes, type_size);
      CHECK(bytes(to.begin(), to.end()) == original);
      CHECK(memory[at - 1] == std::byte{0xee});
      CHECK(memory[at + original.size()] == std::byte{0xee});
      std::fill(memory.begin(), memory.end(), std::byte{0xee});
    }
  }
}

}  // namespace shuffle_test

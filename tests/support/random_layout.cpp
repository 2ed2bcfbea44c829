// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "support/random_layout.hpp"

#include <cstring>
#include <string>

// Flattened: of the templates of libstdc++ the linker may take what a test compiled, unoptimised.

namespace zarrpoint_test {

[[gnu::flatten]] zp::index_t offset_of(const zp::dims& at, const zp::dims& strides) {
  zp::index_t offset = 0;
  for (std::size_t i = 0; i < at.rank(); ++i) offset += at[i] * strides[i];
  return offset;
}

[[gnu::flatten]] std::vector<std::byte> random_bytes(random_source& random, std::size_t size) {
  std::vector<std::byte> out(size);
  for (std::byte& b : out) b = static_cast<std::byte>(random() & 0xff);
  return out;
}

[[gnu::flatten]] void fill_random(std::byte* data, std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<std::byte>(random());
}

[[gnu::flatten]] bool same_elements(const zp::host_view& a, const zp::host_view& b) {
  if (a.spec() != b.spec()) return false;
  bool same = true;
  for_each_coordinate(a.shape, [&](const zp::dims& at) {
    const std::byte* const x = a.data + offset_of(at, a.strides);
    const std::byte* const y = b.data + offset_of(at, b.strides);
    same = same && (a.type.is_variable() ? *reinterpret_cast<const std::string*>(x) ==
                                               *reinterpret_cast<const std::string*>(y)
                                         : std::memcmp(x, y, a.type.size()) == 0);
  });
  return same;
}

}  // namespace zarrpoint_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "support/shard_values.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace zarrpoint_test {
namespace {

/// The bytes of element `index` of a global tensor of any type of at most 16 bytes.
void put_element(std::byte* at, zp::dtype type, std::uint64_t seed, zp::index_t index) {
  std::uint64_t bits[2] = {mixed(seed, static_cast<std::uint64_t>(index)), 0};
  bits[1] = mixed(seed + 1, bits[0]);
  if (type == zp::dtype_kind::bool_) bits[0] &= 1U;
  // The least of both: g++ 12 warns of longer types, which never come here.
  std::memcpy(at, bits, std::min(zp::memory_size(type), sizeof bits));
}

}  // namespace

zp::tensor values_of(const zp::shard_metadata& of, std::uint64_t seed) {
  zp::tensor out = zp::tensor::make(of.data_spec()).value();
  std::byte* const data = out.mutable_view().data;
  const std::size_t size = zp::memory_size(of.type);
  for_each_element(of, of.global_shape, [&](zp::index_t n, zp::index_t global) {
    put_element(data + static_cast<std::size_t>(n) * size, of.type, seed, global);
  });
  return out;
}

std::string wrong_in(const zp::sharded_tensor& loaded, std::uint64_t seed, const zp::dims& stored,
                     zp::shard_padding padding) {
  const zp::shard_metadata& about = loaded.metadata();
  const std::string name = "\"" + about.key + "\" " + to_string(about.global_box());
  const zp::tensor* const found = loaded.get<zp::tensor>();
  if (found == nullptr) return name + " has no value; ";
  const std::size_t size = zp::memory_size(about.type);
  const std::byte* const data = found->view().data;
  std::string wrong;
  for_each_element(
      about, stored,
      [&](zp::index_t n, zp::index_t global) {
        std::byte expected[16] = {};
        if (global >= 0) put_element(expected, about.type, seed, global);
        if (wrong.empty() &&
            std::memcmp(expected, data + static_cast<std::size_t>(n) * size, size) != 0)
          wrong = name + " differs at element " + std::to_string(n) + "; ";
      },
      padding);
  return wrong;
}

}  // namespace zarrpoint_test

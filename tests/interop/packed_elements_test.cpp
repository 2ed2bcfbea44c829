// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/safetensors/packed_elements.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace zp = zarrpoint;
namespace packing = zarrpoint::safetensors::detail;

TEST_CASE("packed elements: the first lies in the lowest bits") {
  const std::vector<std::byte> four{std::byte{0x21}, std::byte{0xf3}};
  for (unsigned i = 0; i < 4; ++i)
    CHECK(packing::packed_element(four, 4, i) == std::byte(i < 3 ? i + 1 : 15));
  // 1, 2, 3, 63 of six bits.
  const std::vector<std::byte> six{std::byte{0x81}, std::byte{0x30}, std::byte{0xfc}};
  for (unsigned i = 0; i < 4; ++i)
    CHECK(packing::packed_element(six, 6, i) == std::byte(i < 3 ? i + 1 : 63));
}

TEST_CASE("packed elements: what is packed in parts is found again") {
  std::mt19937 random(1);
  for (const zp::dtype_kind kind : {zp::dtype_kind::float4_e2m1fn, zp::dtype_kind::float6_e3m2fn}) {
    const auto bits = static_cast<unsigned>(zp::dtype(kind).bits());
    for (std::size_t count = 0; count <= 64; count += 4) {
      std::vector<std::byte> elements(count);
      for (std::byte& one : elements) one = static_cast<std::byte>(random() % (1U << bits));
      packing::packer to(kind);
      std::vector<std::byte> packed;
      for (std::size_t at = 0; at < count;) {
        const std::size_t part = std::min<std::size_t>(random() % 7, count - at);
        for (const std::byte one : to.add(zp::bytes_view(elements).subspan(at, part)))
          packed.push_back(one);
        at += part;
      }
      CHECK(packed.size() ==
            packing::stored_byte_count({kind, {static_cast<zp::index_t>(count)}}).value());
      for (std::size_t i = 0; i < count; ++i)
        REQUIRE(packing::packed_element(packed, bits, i) == elements[i]);
    }
  }
}

TEST_CASE("packed elements: the bytes that a file has") {
  CHECK(packing::stored_byte_count({zp::dtype_kind::float32, {3}}).value() == 12);
  CHECK(packing::stored_byte_count({zp::dtype_kind::float4_e2m1fn, {3, 2}}).value() == 3);
  CHECK(packing::stored_byte_count({zp::dtype_kind::float6_e2m3fn, {4}}).value() == 3);
  CHECK(packing::stored_byte_count({zp::dtype_kind::float4_e2m1fn, {3}}).failure().code ==
        zp::errc::unsupported);
  CHECK(packing::stored_byte_count({zp::dtype_kind::float6_e2m3fn, {INT64_MAX}}).failure().code ==
        zp::errc::out_of_range);
}

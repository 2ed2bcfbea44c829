// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/array_to_bytes/packbits.hpp>

#include "support/filter_golden.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace packbits_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

zp::packbits_codec made(std::string_view configuration) {
  return zp::make_codec<zp::packbits_codec>(parsed(configuration)).value();
}

/// The bytes of little-endian elements, and of what comes back.
std::pair<std::string, std::string> both_ways(std::string_view configuration, zp::dtype type,
                                              std::string_view hex) {
  const byte_string elements = to_native(from_hex(hex), type);
  const zp::tensor_spec spec{type, {static_cast<zp::index_t>(elements.size() / type.size())}};
  const auto codec = made(configuration).resolve(spec).value();
  zp::codec_workspace scratch;
  byte_string stored(codec.encoded_bound(spec));
  REQUIRE(codec.encode(zp::dense_view(elements.data(), spec), stored, scratch).value() ==
          stored.size());
  byte_string back(elements.size());
  REQUIRE(codec.decode(stored, zp::dense_view(back.data(), spec), scratch));
  return {to_hex(stored), to_hex(to_native(back, type))};
}

}  // namespace

TEST_CASE("packbits: bytes worked out from the text of the registry") {
  using enum zp::dtype_kind;
  const std::string_view bits = "01000001010101010100";
  CHECK(both_ways("{}", bool_, bits) == std::pair<std::string, std::string>("f901", bits));
  CHECK(both_ways(R"({"padding_encoding": "first_byte"})", bool_, bits).first == "06f901");
  CHECK(both_ways(R"({"padding_encoding": "last_byte"})", bool_, bits).first == "f90106");
  CHECK(both_ways(R"({"padding_encoding": "start_byte"})", bool_, bits).first == "06f901");
  CHECK(both_ways(R"({"padding_encoding": "end_byte"})", bool_, bits).first == "f90106");
  CHECK(both_ways(R"({"padding_encoding": "first_byte"})", bool_, "").first == "00");
  CHECK(both_ways("{}", int4, "010f08").first == "f108");
  CHECK(both_ways("{}", int4, "010f08").second == "010f08");
  CHECK(both_ways("{}", uint2, "0001020301") ==
        std::pair<std::string, std::string>("e401", "0001020301"));
  CHECK(both_ways("{}", float6_e3m2fn, "3f0021") ==
        std::pair<std::string, std::string>("3f1002", "3f0021"));
  CHECK(both_ways("{}", complex_float4_e2m1fn, "010f0203").first == "f132");
  CHECK(both_ways("{}", int16, "3412ff80").first == "3412ff80");
  CHECK(both_ways("{}", complex64, "0000803f00000040").first == "0000803f00000040");
}

TEST_CASE("packbits: a part of the bits; signed integers come back with their sign") {
  using enum zp::dtype_kind;
  // 12 bits of -2 and of 5.
  const auto low = both_ways(R"({"last_bit": 11})", int32, "feffffff05000000");
  CHECK(low == std::pair<std::string, std::string>("fe5f00", "feffffff05000000"));
  CHECK(both_ways(R"({"last_bit": 11})", uint32, "feffffff").second == "fe0f0000");
  CHECK(both_ways(R"({"last_bit": 3})", int16, "0900").second == "f9ff");
  CHECK(both_ways(R"({"first_bit": 4})", uint8, "abcd").first == "ca");
  CHECK(both_ways(R"({"first_bit": 4})", uint8, "abcd").second == "a0c0");
  CHECK(both_ways(R"({"first_bit": 4, "last_bit": null})", uint8, "abcd").first == "ca");
  CHECK(both_ways(R"({"start_bit": 4, "end_bit": 5})", uint8, "abcd").first == "02");
  CHECK(both_ways(R"({"first_bit": 16})", float32, "3412803f").second == "0000803f");
  CHECK(both_ways(R"({"first_bit": 63})", int64, "0000000000000080").second == "0000000000000080");
  CHECK(both_ways(R"({"first_bit": 1})", int2, "020301").second == "020200");
}

TEST_CASE("packbits: every number, shape and layout") {
  for (const char* const configuration :
       {"{}", R"({"padding_encoding": "first_byte"})", R"({"padding_encoding": "last_byte"})"})
    codec_conformance(made(configuration));
}

TEST_CASE("packbits: random numbers against one bit after another") {
  random_source random(6);
  for (int round = 0; round < 200; ++round) {
    const int first = static_cast<int>(pick(random, 32));
    const int last = first + static_cast<int>(pick(random, static_cast<std::size_t>(32 - first)));
    const std::size_t count = pick(random, 20);
    std::vector<std::uint32_t> values(count);
    for (std::uint32_t& one : values) one = static_cast<std::uint32_t>(random());
    const zp::tensor_spec spec{zp::dtype_kind::uint32, {static_cast<zp::index_t>(count)}};
    zp::packbits_codec codec;
    codec.first_bit = first;
    codec.last_bit = last;
    std::vector<bool> bits;
    for (const std::uint32_t one : values) {
      for (int bit = first; bit <= last; ++bit) bits.push_back((one >> bit & 1) != 0);
    }
    byte_string expected((bits.size() + 7) / 8);
    for (std::size_t i = 0; i < bits.size(); ++i)
      expected[i / 8] |= static_cast<std::byte>((bits[i] ? 1U : 0U) << i % 8);
    byte_string stored(codec.encoded_bound(spec));
    zp::codec_workspace scratch;
    REQUIRE(codec.encode(zp::dense_view(reinterpret_cast<const std::byte*>(values.data()), spec),
                         stored, scratch));
    REQUIRE(stored == expected);
  }
}

TEST_CASE("packbits: configurations and counts that make no sense") {
  const zp::tensor_spec bytes{zp::dtype_kind::uint8, {3}};
  using enum zp::errc;
  CHECK(refuses<zp::packbits_codec>(R"({"first_bit": 8})", bytes, invalid_argument));
  CHECK(refuses<zp::packbits_codec>(R"({"last_bit": 8})", bytes, invalid_argument));
  CHECK(refuses<zp::packbits_codec>(R"({"first_bit": 5, "last_bit": 4})", bytes, invalid_argument));
  CHECK(refuses<zp::packbits_codec>(R"({"first_bit": -1})", bytes, invalid_argument));
  CHECK(
      refuses<zp::packbits_codec>(R"({"first_bit": 1, "start_bit": 1})", bytes, invalid_argument));
  CHECK(refuses<zp::packbits_codec>(R"({"padding_encoding": "middle"})", bytes, invalid_argument));
  CHECK(refuses<zp::packbits_codec>("{}", {zp::dtype_kind::string, {3}}, unsupported));
  CHECK(refuses<zp::packbits_codec>("{}", {zp::dtype::raw_bytes(4), {3}}, unsupported));
  const zp::tensor_spec flags{zp::dtype_kind::bool_, {10}};
  byte_string out(10);
  zp::codec_workspace scratch;
  for (const char* const stored : {"05f901", "0ef901", "06f9", "06f90100"}) {
    const auto status = made(R"({"padding_encoding": "first_byte"})")
                            .decode(from_hex(stored), zp::dense_view(out.data(), flags), scratch);
    REQUIRE_FALSE(status);
    CHECK(status.failure().code == corrupt);
  }
}

}  // namespace packbits_test

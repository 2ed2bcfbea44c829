// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/blosc/blosc_zlib.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>

#include "support/lz_stream_cases.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace blosc_zlib_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::blosc_compressor;
using zp::blosc_shuffle;

TEST_CASE("blosc_zlib: frames that numcodecs 0.16.6 made") {
  zp::codec_workspace scratch;
  std::vector<std::byte> to(200, std::byte{1});
  const auto zeros =
      from_hex("02016001c8000000c800000024000000140000000c000000785e6360181e000000c80001");
  REQUIRE(zp::blosc_zlib_codec{}.decode(zeros, to, scratch).value() == 200);
  CHECK(to == std::vector<std::byte>(200));

  // uint16, shuffled, the two planes streams of their own.
  const auto numbers = from_hex(
      "020161025802000058020000990000001400000070000000785e6360e7139551d632b4b077f30d894e62e5119652"
      "d4d037b375f10e8a4c60e612949057d335b176f20c088f63e4e0179355d136b27470f70b8d4966e3159156d23430"
      "b773f5098e4a64e116925450d733b571f60a8c8867e214109753d531b672f4f00f8b65182676000099bd3a030d00"
      "0000785e63601805c40200012c0001");
  to.assign(600, std::byte{1});
  REQUIRE(zp::blosc_zlib_codec{}.decode(numbers, to, scratch).value() == 600);
  for (std::size_t i = 0; i < 300; ++i)
    REQUIRE(zp::load_le<std::uint16_t>(to.data() + 2 * i) == i * 7 % 100);
}

TEST_CASE("blosc_zlib: conformance; in place of blosc, which it agrees with in all else") {
  const std::vector<zp::tensor_spec> few{{zp::dtype_kind::bfloat16, {40, 30}},
                                         {zp::dtype_kind::float64, {257}},
                                         {zp::dtype_kind::string, {9}}};
  for (const auto shuffle : {blosc_shuffle::none, blosc_shuffle::bytes, blosc_shuffle::bits}) {
    codec_conformance(
        zp::blosc_zlib_codec{
            {.compressor = blosc_compressor::zlib, .level = 1, .shuffle = shuffle}},
        few);
  }
  codec_conformance(zp::blosc_zlib_codec{{.level = 1}}, few);
  using codecs = zp::default_codecs::with<zp::blosc_zlib_codec>;
  CHECK(codecs::table().entries().size() == zp::default_codecs::table().entries().size());
}

TEST_CASE("blosc_zlib: writes what blosc_codec does not") {
  zp::codec_workspace scratch;
  const std::vector<std::byte> values(10'000, std::byte{5});
  std::vector<std::byte> out(20'000);
  const zp::blosc_zlib_codec codec{{.compressor = blosc_compressor::zlib, .level = 1}};
  CHECK(codec.encode(values, out, scratch).value() < 200);
  const zp::blosc_codec plain{{.compressor = blosc_compressor::zlib, .level = 1}};
  const auto refused = plain.encode(values, out, scratch);
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().code == zp::errc::unsupported);
  CHECK(refused.failure().message.find("<zarrpoint/blosc_zlib.hpp>") != std::string::npos);
}

}  // namespace blosc_zlib_test

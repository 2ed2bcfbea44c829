// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/kit/checksums.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace checksums_test {

namespace zp = zarrpoint;

namespace {

/// 100001 bytes without a short period.
std::vector<std::byte> long_input() {
  std::vector<std::byte> out(100'001);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i * 7 + i / 256);
  return out;
}

}  // namespace

// The numbers are those of Python's zlib and of numcodecs 0.16.6.
TEST_CASE("checksums: known values") {
  const zp::bytes_view digits = zp::as_bytes("123456789");
  CHECK(zp::crc32({}) == 0);
  CHECK(zp::crc32(digits) == 0xcbf43926);
  CHECK(zp::crc32(digits.first(1)) == 0x83dcefb7);
  CHECK(zp::adler32({}) == 1);
  CHECK(zp::adler32(digits) == 0x91e01de);
  CHECK(zp::adler32(digits.first(1)) == 0x320032);
  CHECK(zp::fletcher32({}) == 0);
  CHECK(zp::fletcher32(digits) == 0x09df09d5);
  CHECK(zp::fletcher32(digits.first(1)) == 0x31003100);
  CHECK(zp::jenkins_lookup3({}) == 0xdeadbeef);
  CHECK(zp::jenkins_lookup3(digits) == 0x845d9a96);
  CHECK(zp::jenkins_lookup3(digits.first(1)) == 0x9a92a17c);
  CHECK(zp::jenkins_lookup3({}, 17) == 0xdeadbf00);
  CHECK(zp::jenkins_lookup3(digits, 17) == 0xeb40dae7);
}

TEST_CASE("checksums: long input, and sums that overflow") {
  const std::vector<std::byte> input = long_input();
  CHECK(zp::crc32(input) == 0x77ef713b);
  CHECK(zp::adler32(input) == 0x701f9bd5);
  CHECK(zp::fletcher32(input) == 0x2f1cc009);
  CHECK(zp::jenkins_lookup3(input) == 0x9db4ce75);
  CHECK(zp::jenkins_lookup3(input, 17) == 0xabe0bddd);
  const std::vector<std::byte> ones(2000, std::byte{0xff});
  CHECK(zp::crc32(ones) == 0xcb5626af);
  CHECK(zp::adler32(ones) == 0xafadc89a);
  CHECK(zp::fletcher32(ones) == 0xffffffff);
  CHECK(zp::jenkins_lookup3(ones) == 0x1e44a62b);
}

TEST_CASE("checksums: lookup3 around its blocks of twelve bytes") {
  const zp::bytes_view text = zp::as_bytes("123456789abcdef0123456789");
  const std::pair<std::size_t, std::uint32_t> table[] = {
      {11, 0xa7694b73}, {12, 0xa08b3573}, {13, 0x5fafdfec}, {24, 0x5a941596}, {25, 0x72badd53}};
  for (const auto& [size, sum] : table) CHECK(zp::jenkins_lookup3(text.first(size), 7) == sum);
}

}  // namespace checksums_test

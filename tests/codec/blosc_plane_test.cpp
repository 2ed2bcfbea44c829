// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/blosc/blosc_plane.hpp>
#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>

#include "support/codec_conformance.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace blosc_plane_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::detail::encode_plane;
using zp::detail::has_repeats;
using zp::detail::sampled_entropy;
using bytes = std::vector<std::byte>;

namespace {

/// Bytes like those of the exponents of weights: few values, in no order.
bytes exponents(std::size_t count) {
  random_source random(17);
  std::geometric_distribution<int> distribution(0.35);
  bytes out(count);
  for (std::byte& one : out) one = static_cast<std::byte>(120 - distribution(random) % 100);
  return out;
}

bytes repeated(const bytes& part, std::size_t times) {
  bytes out;
  for (std::size_t i = 0; i < times; ++i) out.insert(out.end(), part.begin(), part.end());
  return out;
}

std::size_t size_of(const bytes& plane, int level) {
  zp::codec_workspace scratch;
  guarded_bytes out(plane.size() - 1);
  const auto size = encode_plane(plane, out.bytes(), level, scratch);
  REQUIRE(out.intact());
  if (!size) {
    CHECK(size.failure().code == zp::errc::out_of_range);
    return plane.size();
  }
  bytes back(plane.size());
  REQUIRE(zp::zstd_codec{}.decode(out.bytes().first(*size), back, scratch).value() == plane.size());
  REQUIRE(back == plane);
  return *size;
}

std::size_t zstd_size(const bytes& plane, int level) {
  zp::codec_workspace scratch;
  bytes out(zp::zstd_codec{}.encoded_bound(plane.size()));
  return zp::zstd_codec{.level = level}.encode(plane, out, scratch).value();
}

}  // namespace

TEST_CASE("blosc_plane: the entropy of a sample") {
  random_source random(1);
  CHECK(sampled_entropy(random_bytes(random, 1 << 20)) > 7.97);
  CHECK(sampled_entropy(bytes(100'000)) == 0);
  CHECK(sampled_entropy({}) == 8);
  CHECK(sampled_entropy(bytes(3)) == 0);
  bytes two(1 << 18);
  for (std::byte& one : two) one = static_cast<std::byte>(random() & 1);
  CHECK(std::abs(sampled_entropy(two) - 1) < 0.01);
}

TEST_CASE("blosc_plane: what repeats is seen, chance is not") {
  random_source random(2);
  CHECK_FALSE(has_repeats({}));
  CHECK_FALSE(has_repeats(bytes(31)));
  CHECK(has_repeats(bytes(1000)));
  CHECK_FALSE(has_repeats(random_bytes(random, 100'000)));
  CHECK_FALSE(has_repeats(exponents(100'000)));
  CHECK(has_repeats(repeated(random_bytes(random, 10'000), 5)));
}

TEST_CASE("blosc_plane: noise is left alone") {
  random_source random(3);
  const bytes noise = random_bytes(random, 1 << 18);
  for (const int level : {1, 5}) CHECK(size_of(noise, level) == noise.size());
}

TEST_CASE("blosc_plane: exponents, without matches and yet smaller than with them") {
  const bytes plane = exponents(1 << 18);
  const std::size_t size = size_of(plane, 1);
  CHECK(static_cast<double>(size) < 1.03 * sampled_entropy(plane) / 8 * (1 << 18));
  CHECK(size < zstd_size(plane, 1));
  CHECK(size_of(plane, 5) == size);  // not better by 2 %, and slower to read
}

TEST_CASE("blosc_plane: repetitions are used, in noise, too") {
  random_source random(4);
  CHECK(size_of(bytes(1 << 18), 1) < 100);
  CHECK(size_of(repeated(random_bytes(random, 8000), 30), 1) < 10'000);
  const bytes rows = repeated(exponents(8000), 30);
  CHECK(size_of(rows, 1) < 10'000);
  // Far apart they are looked for from level 2 on.
  const bytes far = repeated(exponents(100'000), 2);
  CHECK(size_of(far, 3) < size_of(far, 1) * 7 / 10);
}

TEST_CASE("blosc_plane: memory comes from the workspace") {
  zp::limited_resource budget(100'000);
  zp::codec_workspace scratch(budget);
  bytes out(1 << 18);
  CHECK(encode_plane(exponents(1 << 18), out, 1, scratch).failure().code ==
        zp::errc::resource_limit);
}

}  // namespace blosc_plane_test

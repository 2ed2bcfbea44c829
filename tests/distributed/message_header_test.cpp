// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/distributed/communicate/point_to_point.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>

namespace message_header_test {

using namespace zarrpoint;
using detail::message_header;

namespace {

message packet(std::uint64_t body) {
  message bytes = message_header{{{collective::scatter, 513}, 1234567890123}, body}.pack();
  if (body <= message_header::max_inline_body) bytes.resize(bytes.size() + body);
  return bytes;
}

}  // namespace

TEST_CASE("message_header: comes back as it was") {
  for (const std::uint64_t body : {0ULL, 1ULL, 1024ULL, 1025ULL, 1ULL << 40}) {
    const message_header header = message_header::unpack(packet(body)).value();
    CHECK(header.call == detail::collective_call{{collective::scatter, 513}, 1234567890123});
    CHECK(header.body == body);
  }
}

TEST_CASE("message_header: what is cut off, too long or not one is refused") {
  for (const std::uint64_t body : {0ULL, 7ULL, 1025ULL}) {
    message bytes = packet(body);
    for (std::size_t size = 0; size < bytes.size(); ++size)
      CHECK_FALSE(message_header::unpack(bytes_view(bytes).first(size)));
    bytes.push_back({});
    CHECK_FALSE(message_header::unpack(bytes));
  }
  std::minstd_rand random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::size_t body = 1 + random() % 40;
    message bytes = packet(body);
    const std::size_t bit = random() % (8 * bytes.size());
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto header = message_header::unpack(bytes);
    CAPTURE(bit);
    if (bit < 32 || (bit >= 160 && bit < 224)) {  // what it is, and how long
      REQUIRE_FALSE(header);
    } else if (bit >= 224) {
      REQUIRE(header);
      CHECK(header->body == body);
    }
    if (!header) CHECK(header.failure().code == errc::corrupt);
  }
}

}  // namespace message_header_test

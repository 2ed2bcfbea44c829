// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/kit/stream_library.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace stream_library_test {

namespace zp = zarrpoint;

namespace {

/// As the libraries' own, with counts so small that pieces show.
struct tiny_stream {
  const unsigned char* next_in = nullptr;
  unsigned char avail_in = 0;
  unsigned char* next_out = nullptr;
  unsigned char avail_out = 0;
};

}  // namespace

TEST_CASE("stream_cursor: large buffers are handed over in pieces") {
  std::vector<std::byte> from(1000, std::byte{7});
  std::vector<std::byte> to(300);
  tiny_stream stream;
  zp::detail::stream_cursor<tiny_stream> cursor(from, to);
  CHECK(cursor.input_left(stream) == 1000);
  std::size_t read = 0;
  while (true) {
    cursor.refill(stream);
    if (stream.avail_in == 0) break;
    CHECK(stream.next_in == reinterpret_cast<const unsigned char*>(from.data()) + read);
    REQUIRE(stream.avail_in <= 127);
    read += stream.avail_in;
    stream.avail_in = 0;
    CHECK(cursor.input_left(stream) == 1000 - read);
  }
  CHECK(read == 1000);
  CHECK(cursor.output_left(stream) == 300);
}

TEST_CASE("stream_cursor: no room at all is still an address") {
  tiny_stream stream;
  zp::detail::stream_cursor<tiny_stream> cursor({}, {});
  cursor.refill(stream);
  CHECK(stream.next_out != nullptr);
  CHECK(stream.avail_out == 0);
  CHECK(cursor.input_left(stream) == 0);
}

}  // namespace stream_library_test

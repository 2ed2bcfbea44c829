// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/zip/zip_store.hpp>
#include <zarrpoint/store/zip_inflate.hpp>

#include "support/store_conformance.hpp"
#include "support/zip_bytes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace zip_inflate_test {

using namespace zarrpoint;

namespace {

std::string deflate_raw(const std::string& data) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, data.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

test::zip_part deflated(std::string name, const std::string& data) {
  return {std::move(name), deflate_raw(data), 8, data.size(), detail::crc32(0, as_bytes(data)), 0};
}

}  // namespace

TEST_CASE("zip_inflate: deflated members, whole and in ranges") {
  const auto noise = test::random_bytes(300'000);
  const std::string text = std::string(400'000, 'x') + std::string(as_text(noise)) + "end";
  const auto store =
      zip_store::open(test::blob_of(test::zip_of(
                          {deflated("a/b", text), deflated("empty", ""), {"stored", "hello"}})),
                      {.inflate = zip_inflate})
          .value();
  CHECK(as_text(*get(store, test::key("a/b"), 1 << 20).value()) == text);
  CHECK(get(store, test::key("empty"), 0).value()->empty());
  CHECK(as_text(*get(store, test::key("stored"), 10).value()) == "hello");
  const auto object = store.open(test::key("a/b")).value();
  for (const std::size_t offset : {0U, 399'999U, 700'000U}) {
    std::vector<std::byte> part(3);
    object->read(offset, part).value();
    CHECK(as_text(part) == text.substr(offset, 3));
  }
}

TEST_CASE("zip_inflate: damaged streams are errors, or the damage changes nothing") {
  const std::string text = std::string(1000, 'x') + std::string(as_text(test::random_bytes(1000)));
  const test::zip_part good = deflated("a", text);
  std::size_t refused = 0, tried = 0;
  for (std::size_t at = 0; at < good.data.size(); at += 3) {
    for (const bool cut : {false, true}) {
      test::zip_part bad = good;
      if (cut) {
        bad.data.resize(at);
      } else {
        bad.data[at] ^= 0x10;
      }
      const auto store =
          zip_store::open(test::blob_of(test::zip_of({bad})), {.inflate = zip_inflate});
      if (!store) continue;  // too short for its size
      const auto read = get(*store, test::key("a"), 1 << 20);
      ++tried;
      if (read) {  // a run of one letter is the same from whatever distance it is copied
        CHECK(as_text(**read) == text);
      } else {
        ++refused;
        CHECK(read.failure().code == errc::corrupt);
      }
    }
  }
  CHECK(refused + 10 > tried);
}

TEST_CASE("zip_inflate: memory that the system refuses is told in bytes") {
  const std::string text(100'000, 'x');
  const std::string stored = deflate_raw(text);
  static std::size_t left = 0;
  const auto allocate = [](std::size_t bytes) -> void* {
    if (bytes > left) return nullptr;
    left -= bytes;
    return std::malloc(bytes);
  };
  const auto decode = [&](std::size_t room) -> result<void> {
    left = room;
    detail::zlib_zip_decoder decoder(allocate);
    ZARRPOINT_CHECK(decoder.ready());
    std::vector<std::byte> out(text.size());
    bytes_view from = as_bytes(stored);
    mutable_bytes to(out);
    // In pieces, so that zlib has to keep what it wrote.
    while (!to.empty()) {
      mutable_bytes piece = to.first(std::min<std::size_t>(to.size(), 1000));
      const std::size_t before = piece.size();
      ZARRPOINT_CHECK(decoder.decode(from, piece));
      to = to.subspan(before - piece.size());
    }
    CHECK(out.back() == std::byte{'x'});
    return {};
  };
  std::size_t refused = 0;
  for (std::size_t room = 0;; room += 1000) {
    REQUIRE(room < 1'000'000);
    const auto done = decode(room);
    if (done) break;
    ++refused;
    CHECK(done.failure().code == errc::resource_limit);
    const std::string& said = done.failure().message;
    CAPTURE(said);
    REQUIRE(said.starts_with("cannot allocate "));
    CHECK(std::stoul(said.substr(16)) > 0);
    CHECK(said.ends_with(" bytes for a decompressor"));
  }
  CHECK(refused > 1);
}

}  // namespace zip_inflate_test

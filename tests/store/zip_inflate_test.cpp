// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/zip/zip_store.hpp>
#include <zarrpoint/store/zip_inflate.hpp>

#include "support/store_conformance.hpp"
#include "support/zip_bytes.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
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

std::uint64_t inflated_bytes = 0;

/// zlib's, which counts what it makes, and can be copied or not.
template <bool Copied>
class counting_decoder final : public zip_decoder {
 public:
  explicit counting_decoder(std::unique_ptr<zip_decoder> inner) : inner_(std::move(inner)) {}
  result<bool> decode(bytes_view& from, mutable_bytes& to) override {
    const std::size_t room = to.size();
    auto out = inner_->decode(from, to);
    inflated_bytes += room - to.size();
    return out;
  }
  result<std::unique_ptr<zip_decoder>> copy() const override {
    if constexpr (!Copied) {
      return zip_decoder::copy();
    } else {
      ZARRPOINT_TRY(inner, inner_->copy());
      return std::unique_ptr<zip_decoder>(std::make_unique<counting_decoder>(std::move(inner)));
    }
  }

 private:
  std::unique_ptr<zip_decoder> inner_;
};

template <bool Copied>
result<std::unique_ptr<zip_decoder>> counting_inflate() {
  ZARRPOINT_TRY(inner, zip_inflate());
  return std::unique_ptr<zip_decoder>(std::make_unique<counting_decoder<Copied>>(std::move(inner)));
}

std::unique_ptr<blob> open_member(const test::zip_part& part, zip_decoder_factory decoders) {
  return zip_store::open(test::blob_of(test::zip_of({part})), {.inflate = decoders})
      .value()
      .open(test::key(part.name))
      .value();
}

}  // namespace

TEST_CASE("zip_inflate: what zlib holds when its input is used up is read, too") {
  // 32 KiB of input make 32 MiB: the last of it is taken long before the last byte is made.
  const std::string zeros(std::size_t{32} << 20, '\0');
  const test::zip_part part = deflated("a", zeros);
  const auto object = open_member(part, zip_inflate);
  std::vector<std::byte> bytes(zeros.size());
  object->read(0, bytes).value();
  CHECK(as_text(bytes) == zeros);
  object->read(zeros.size() - 5, mutable_bytes(bytes).first(5)).value();

  test::zip_part cut = part;
  cut.data.resize(cut.data.size() - 3);
  const auto read = open_member(cut, zip_inflate)->read(0, bytes);
  REQUIRE_FALSE(read);
  CHECK(read.failure().message.find("cut short") != std::string::npos);
  test::zip_part longer = part;
  longer.size -= 1;
  CHECK_FALSE(
      open_member(longer, zip_inflate)->read(7, mutable_bytes(bytes).first(longer.size - 7)));
}

TEST_CASE(
    "zip_inflate: a large member is inflated in one pass, and ranges begin near their place") {
  std::string text(std::size_t{40} << 20, '\0');
  const auto noise = test::random_bytes(4096);
  for (std::size_t at = 0; at < text.size(); at += 8192)
    std::memcpy(text.data() + at, noise.data() + at / 8192 % 4000, 96);
  const test::zip_part part = deflated("a", text);
  const std::size_t piece = 1'000'000;
  const auto pass = [&](const blob& object) {
    inflated_bytes = 0;
    std::vector<std::byte> bytes(piece);
    for (std::size_t at = 0; at < text.size(); at += piece) {
      const mutable_bytes into = mutable_bytes(bytes).first(std::min(piece, text.size() - at));
      object.read(at, into).value();
      REQUIRE(as_text(into) == std::string_view(text).substr(at, into.size()));
    }
    return inflated_bytes;
  };
  const auto with = open_member(part, counting_inflate<true>);
  CHECK(pass(*with) == text.size());
  // Backwards, by what was kept on the way: no read makes more than the distance of two points.
  std::vector<std::byte> few(100);
  for (std::size_t at = text.size() - 100; at > 3'000'000; at -= 2'999'999) {
    inflated_bytes = 0;
    with->read(at, few).value();
    REQUIRE(as_text(few) == std::string_view(text).substr(at, 100));
    CHECK(inflated_bytes <= (std::size_t{1} << 20) + few.size());
  }
  // A decoder that cannot be copied goes on where it is, and from the beginning otherwise.
  const auto without = open_member(part, counting_inflate<false>);
  CHECK(pass(*without) == text.size());
  without->read(5000, few).value();
  CHECK(as_text(few) == std::string_view(text).substr(5000, 100));
}

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

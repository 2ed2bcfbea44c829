// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/bytes_to_bytes/gzip.hpp>

#include "support/codec_conformance.hpp"
#include "support/refused_memory.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace gzip_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

using bytes = std::vector<std::byte>;

bytes operator+(bytes a, const bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

template <class C>
bytes encoded(const bytes& content, const C& codec) {
  zp::codec_workspace scratch;
  bytes out(codec.encoded_bound(content.size()));
  out.resize(codec.encode(content, out, scratch).value());
  return out;
}

template <class C>
zp::result<bytes> decoded(const bytes& stored, std::size_t room, const C& codec) {
  zp::codec_workspace scratch;
  guarded_bytes out(room);
  zp::result<std::size_t> size = codec.decode(stored, out.bytes(), scratch);
  REQUIRE(out.intact());
  if (!size) return std::move(size).failure();
  return copy_of(out.bytes().first(*size));
}

template <class C>
C at_level(int level) {
  C codec;
  codec.level = level;
  return codec;
}

const bytes sample = copy_of(zp::as_bytes("one two one two one two one two"));

}  // namespace

TEST_CASE("gzip and zlib: conformance at several levels") {
  codec_conformance(zp::gzip_codec{});
  const std::vector<zp::tensor_spec> few{{zp::dtype_kind::bfloat16, {40, 30}},
                                         {zp::dtype_kind::string, {9}}};
  codec_conformance(at_level<zp::gzip_codec>(0), few);
  codec_conformance(at_level<zp::gzip_codec>(9), few);
  codec_conformance(zp::zlib_codec{}, few);
  codec_conformance(at_level<zp::zlib_codec>(0), few);
}

TEST_CASE("gzip: members one after another, and zeros at the end") {
  const zp::gzip_codec codec;
  const bytes first(sample.begin(), sample.begin() + 9);
  const bytes rest(sample.begin() + 9, sample.end());
  const bytes both = encoded(first, codec) + encoded(rest, codec);
  CHECK(decoded(both, sample.size(), codec).value() == sample);
  CHECK(decoded(both + bytes(513), sample.size(), codec).value() == sample);
  CHECK(decoded(encoded({}, codec) + both, sample.size(), codec).value() == sample);
  CHECK_FALSE(decoded(both + bytes(3) + bytes(1, std::byte{1}), sample.size(), codec));
  CHECK_FALSE(decoded(both + sample, sample.size(), codec));
  CHECK_FALSE(decoded(both + bytes(first), sample.size(), codec));
  CHECK_FALSE(decoded({}, 0, codec));
  CHECK_FALSE(decoded(bytes(40), 10, codec));  // zeros alone are not a member
}

TEST_CASE("gzip: what other tools put into headers") {
  // printf 'hi' | gzip --name: a time stamp and the name "f" stand in the header.
  const unsigned char file[] = {0x1f, 0x8b, 0x08, 0x08, 0x12, 0x34, 0x56, 0x60,
                                0x00, 0x03, 'f',  0x00, 0xcb, 0xc8, 0x04, 0x00,
                                0xac, 0x2a, 0x93, 0xd8, 0x02, 0x00, 0x00, 0x00};
  const bytes stored = copy_of(std::as_bytes(std::span(file)));
  CHECK(decoded(stored, 2, zp::gzip_codec{}).value() == copy_of(zp::as_bytes("hi")));
  // Ours has no time stamp: the same content gives the same bytes on every day.
  const bytes ours = encoded(sample, zp::gzip_codec{});
  CHECK(bytes(ours.begin() + 4, ours.begin() + 8) == bytes(4));
}

TEST_CASE("gzip and zlib: checksums and lengths of the content are checked") {
  bytes stored = encoded(sample, zp::gzip_codec{});
  stored[stored.size() - 5] ^= std::byte{1};  // CRC-32
  CHECK(decoded(stored, sample.size(), zp::gzip_codec{}).failure().code == zp::errc::corrupt);
  stored = encoded(sample, zp::gzip_codec{});
  stored.back() ^= std::byte{1};  // length
  CHECK(decoded(stored, sample.size(), zp::gzip_codec{}).failure().code == zp::errc::corrupt);
  stored = encoded(sample, zp::zlib_codec{});
  stored.back() ^= std::byte{1};  // Adler-32
  CHECK(decoded(stored, sample.size(), zp::zlib_codec{}).failure().code == zp::errc::corrupt);
}

TEST_CASE("zlib: nothing may follow the stream, and a dictionary is refused by name") {
  const zp::zlib_codec codec;
  CHECK(decoded(encoded(sample, codec), sample.size(), codec).value() == sample);
  CHECK_FALSE(decoded(encoded(sample, codec) + bytes(1), sample.size(), codec));
  CHECK_FALSE(decoded(encoded(sample, zp::gzip_codec{}), sample.size(), codec));
  CHECK_FALSE(decoded(encoded(sample, codec), sample.size(), zp::gzip_codec{}));
  const bytes needs = copy_of(zp::as_bytes(std::string_view("\x78\xbb\x00\x00\x00\x01zzzz", 10)));
  CHECK(decoded(needs, 5, codec).failure().code == zp::errc::unsupported);
}

TEST_CASE("gzip: a bomb writes no more than there is room for, and says that it is too large") {
  const bytes bomb = encoded(bytes(50'000'000), zp::gzip_codec{});
  REQUIRE(bomb.size() < 60'000);
  CHECK(decoded(bomb, 1000, zp::gzip_codec{}).failure().code == zp::errc::out_of_range);
  // Also when all of the input is swallowed before the output is out: 258 bytes are one symbol.
  for (std::size_t less = 1; less <= 600; ++less) {
    const bytes stored = encoded(bytes(1000), zp::gzip_codec{});
    const auto status = decoded(stored, 1000 - less, zp::gzip_codec{});
    CHECK(status.failure().code == zp::errc::out_of_range);
  }
}

TEST_CASE("gzip and zlib: registered under the names that metadata uses") {
  using codecs = zp::codec_registry<>::with<zp::gzip_codec, zp::zlib_codec>;
  for (const char* name : {"gzip", "numcodecs.gzip", "zlib", "numcodecs.zlib"}) {
    zp::json configuration;
    configuration.set("level", 1);
    CHECK(codecs::table().make({name, configuration}));
    configuration.set("level", 10);
    CHECK_FALSE(codecs::table().make({name, configuration}));
    configuration.set("level", -2);
    CHECK_FALSE(codecs::table().make({name, configuration}));
    // zlib's default, which Zarr v3 does not know: written as the level that it is.
    configuration.set("level", -1);
    const auto made = codecs::table().make({name, configuration});
    REQUIRE(made);
    CHECK(made->if_bytes_to_bytes()->configuration().find("level")->to_int64() == 6);
  }
}

TEST_CASE("gzip: memory that the budget refuses is told in bytes") {
  check_refusals(zp::gzip_codec{});
  check_refusals(zp::zlib_codec{});
}

}  // namespace gzip_test

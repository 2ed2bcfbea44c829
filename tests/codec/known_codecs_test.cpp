// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/base/known_codecs.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>

#include "support/array_cases.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace known_codecs_test {

namespace zp = zarrpoint;

namespace {

std::string message_of(const char* name) {
  const auto made = zp::default_codecs::table().make({name});
  REQUIRE_FALSE(made);
  CHECK(made.failure().code == zp::errc::unsupported);
  const std::string message = made.failure().message;
  const std::string known =
      "; known are bytes, transpose, vlen-utf8, vlen-bytes, crc32c, zstd, blosc";
  REQUIRE(message.ends_with(known));
  return message.substr(0, message.size() - known.size());
}

std::string_view header_of(const zp::detail::known_codec& one) {
  return zp::detail::codec_doors[static_cast<std::size_t>(one.door)].header;
}

}  // namespace

TEST_CASE("known codecs: an opt-in codec's error says what to include") {
  CHECK(message_of("numcodecs.bz2") ==
        "unknown codec \"numcodecs.bz2\" (include <zarrpoint/bz2.hpp> and use "
        "default_codecs::with<bz2_codec>)");
  CHECK(message_of("gzip") ==
        "unknown codec \"gzip\" (include <zarrpoint/gzip.hpp> and use "
        "default_codecs::with<gzip_codec, zlib_codec>)");
  CHECK(message_of("numcodecs.lz4") ==
        "unknown codec \"numcodecs.lz4\" (include <zarrpoint/codecs.hpp> and use "
        "numcodecs_codecs)");
  for (const auto& one : zp::detail::known_codecs) {
    const std::string name = "numcodecs." + std::string(one.name);
    CHECK(zp::detail::about_codec(name).find(header_of(one)) != std::string::npos);
  }
}

TEST_CASE("known codecs: a name that Zarr v3 has not is told the one that it has") {
  CHECK(message_of("vlen-array") ==
        "unknown codec \"vlen-array\" (in Zarr v3 its name is \"numcodecs.vlen-array\")");
  // What is said is true: with every codec at hand the short name is unknown, the long one is not.
  const zp::codec_table all = zarrpoint_test::all_codecs::table();
  for (const auto& one : zp::detail::known_codecs) {
    if (one.spelling != zp::detail::v3_spelling::prefixed) continue;
    const std::string_view name = one.name;
    CAPTURE(name);
    CHECK(all.find(name) == nullptr);
    if (name != "zfpy") CHECK(all.find("numcodecs." + std::string(name)) != nullptr);
  }
  for (const auto& one : zp::detail::known_codecs) {
    CAPTURE(one.name);
    const bool needs_header =
        zp::detail::about_codec(one.name).find(header_of(one)) != std::string::npos;
    const std::string_view name = one.name;
    const bool is_named = name != "crc32c" && name != "zfp" && name != "zfpy";
    if (is_named) CHECK(needs_header == (all.find(one.name) != nullptr));
  }
}

TEST_CASE("known codecs: a codec of others is refused with the reason") {
  CHECK(
      message_of("conditional") ==
      "unknown codec \"conditional\" (not in this library: no other reader of Zarr has it either)");
  CHECK(message_of("zarrs.vlen_v2").find("(not in this library: an experiment of zarrs)") !=
        std::string::npos);
  CHECK(message_of("imagecodecs_jpegxl").find("imagecodecs") != std::string::npos);
  CHECK(zp::detail::about_codec("pickle").find("code") != std::string::npos);
}

TEST_CASE("known codecs: of others it is said how one is added") {
  CHECK(message_of("example.xor") ==
        "unknown codec \"example.xor\" (not in this library; a codec of your own is added by "
        "default_codecs::with<C>)");
  CHECK(zp::detail::about_codec("").find("of your own") != std::string::npos);
  CHECK(zp::detail::about_codec("zarrs").find("of your own") != std::string::npos);
}

}  // namespace known_codecs_test

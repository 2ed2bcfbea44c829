// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/base/known_codecs.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>

#include <doctest/doctest.h>

#include <string>

namespace known_codecs_test {

namespace zp = zarrpoint;

namespace {

std::string message_of(const char* name) {
  const auto made = zp::default_codecs::table().make({name});
  REQUIRE_FALSE(made);
  CHECK(made.failure().code == zp::errc::unsupported);
  return made.failure().message;
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
  for (const auto& one : zp::detail::opt_in_codecs) {
    const std::string name = "numcodecs." + std::string(one.name);
    CHECK(zp::detail::about_codec(name).find(one.header) != std::string::npos);
  }
}

TEST_CASE("known codecs: a codec of others is refused with the reason") {
  CHECK(message_of("numcodecs.pcodec") ==
        "unknown codec \"numcodecs.pcodec\" (not in this library: its format is that of the "
        "library pcodec alone)");
  CHECK(message_of("zarrs.vlen_v2").find("(not in this library: an experiment of zarrs)") !=
        std::string::npos);
  CHECK(message_of("imagecodecs_jpegxl").find("imagecodecs") != std::string::npos);
  CHECK(zp::detail::about_codec("pickle").find("code") != std::string::npos);
}

TEST_CASE("known codecs: of others nothing is said") {
  CHECK(message_of("example.xor") == "unknown codec \"example.xor\"");
  CHECK(zp::detail::about_codec("").empty());
  CHECK(zp::detail::about_codec("zarrs").empty());
}

}  // namespace known_codecs_test

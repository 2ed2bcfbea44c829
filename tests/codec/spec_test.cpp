// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/base/spec.hpp>

#include <doctest/doctest.h>

namespace spec_test {

namespace zp = zarrpoint;

TEST_CASE("codec_spec: equal when name, configuration and must_understand are") {
  const zp::codec_spec zstd{"zstd", zp::json(zp::json::object{{"level", 3}})};
  CHECK(zstd == zp::codec_spec{"zstd", zp::json(zp::json::object{{"level", 3}})});
  CHECK(zstd.must_understand);
  CHECK_FALSE(zstd == zp::codec_spec{"zstd", zp::json(zp::json::object{{"level", 4}})});
  CHECK_FALSE(zstd == zp::codec_spec{"zstd", zstd.configuration, false});
  CHECK_FALSE(zstd == zp::codec_spec{"gzip", zstd.configuration});
  CHECK(zp::codec_spec{"crc32c"}.configuration.is_null());
}

TEST_CASE("codec_spec: an integer is short for the level of a compressor") {
  CHECK(zp::codec_spec{"gzip", 5}.configuration == zp::json(zp::json::object{{"level", 5}}));
  CHECK(zp::codec_spec{"zstd", -3}.configuration ==
        zp::json(zp::json::object{{"level", -3}, {"checksum", false}}));
  const zp::json blosc = zp::codec_spec{"blosc", 9}.configuration;
  CHECK(*blosc.find("clevel") == zp::json(9));
  CHECK(*blosc.find("cname") == zp::json("zstd"));
  CHECK(blosc.find("level") == nullptr);
  // Nothing else is taken for one.
  CHECK(zp::codec_spec{"gzip", "5"}.configuration == zp::json("5"));
  CHECK(zp::codec_spec{"gzip", 5.0}.configuration == zp::json(5.0));
}

}  // namespace spec_test

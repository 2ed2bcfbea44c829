// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/base/spec.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace codec_list_test { namespace {

using namespace zarrpoint;

/// As the options of the library have it.
struct options {
  int other = 0;
  codec_list codecs{};
};

TEST_CASE("codec_list: plain braces are a chain") {
  const options one{.codecs = {{"bytes"}}};
  REQUIRE(one.codecs.has_value());
  CHECK(*one.codecs == std::vector<codec_spec>{{"bytes"}});

  const options three{.codecs = {{"bytes", json::object{{"endian", "big"}}}, {"zstd", 3}, {"x"}}};
  REQUIRE(three.codecs->size() == 3);
  CHECK(*(*three.codecs)[0].configuration.find("endian") == json("big"));
  CHECK(*(*three.codecs)[1].configuration.find("level") == json(3));
  CHECK((*three.codecs)[2].configuration.is_null());

  // In options within a list of options, as rules are.
  const std::vector<options> rules{{.codecs = {{"bytes"}, {"crc32c"}}}, {.other = 1}};
  CHECK(rules[0].codecs->size() == 2);
  CHECK_FALSE(rules[1].codecs.has_value());
}

TEST_CASE("codec_list: a vector is a chain, and {} is none") {
  const std::vector<codec_spec> chain{{"bytes"}, {"crc32c"}};
  options some{.codecs = chain};
  CHECK(*some.codecs == chain);
  some.codecs = {};
  CHECK_FALSE(some.codecs.has_value());
  some.codecs = {chain[0], chain[1]};
  CHECK(*some.codecs == chain);
  CHECK_FALSE(options{}.codecs.has_value());
  CHECK_FALSE(options{.codecs = {}}.codecs.has_value());
  // An empty vector is a chain without codecs, which is for the one that uses it to refuse.
  some.codecs = std::vector<codec_spec>();
  REQUIRE(some.codecs.has_value());
  CHECK(some.codecs->empty());
}

}}  // namespace codec_list_test

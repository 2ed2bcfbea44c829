// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/shard/sharding.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace sharding_test { namespace {

using namespace zarrpoint;

json inner_codecs() {
  return json::array{
      json::object{{"name", "bytes"}, {"configuration", json::object{{"endian", "little"}}}}};
}

json full() {
  return json::object{{"chunk_shape", json::array{2, 3}},
                      {"codecs", inner_codecs()},
                      {"index_codecs", json::array{json::object{{"name", "bytes"}}, "crc32c"}},
                      {"index_location", "start"}};
}

json without(const char* member) {
  json out{json::object{}};
  const json whole = full();
  for (const auto& [key, value] : *whole.if_object())
    if (key != member) out.set(key, value);
  return out;
}

json with(const char* member, json value) {
  json out = full();
  out.set(member, std::move(value));
  return out;
}

TEST_CASE("a configuration is read") {
  const sharding_config config = sharding_config::from_configuration(full()).value();
  CHECK(config.chunk_shape == dims{2, 3});
  CHECK(config.codecs == std::vector<codec_spec>{{"bytes", json::object{{"endian", "little"}}}});
  CHECK(config.index_codecs == std::vector<codec_spec>{{"bytes"}, {"crc32c"}});
  CHECK(config.location == index_location::start);
  CHECK(sharding_config::from_configuration(without("index_location")).value().location ==
        index_location::end);
}

TEST_CASE("what is written reads back") {
  sharding_config config;
  config.chunk_shape = {4};
  config.codecs = {{"bytes", json::object{{"endian", "big"}}}, {"crc32c"}};
  for (const auto location : {index_location::end, index_location::start}) {
    config.location = location;
    const codec_spec spec = config.to_spec().value();
    CHECK(spec.name == "sharding_indexed");
    CHECK(sharding_config::from_configuration(spec.configuration).value() == config);
    CHECK(spec.configuration.find("index_location") != nullptr);  // no reader has to guess
  }
  CHECK_FALSE(sharding_config{}.to_spec());
}

TEST_CASE("shards lie within each other up to 8 levels") {
  json one = full();
  for (int levels = 2; levels <= 20; ++levels) {
    json outer = full();
    outer.set("codecs", json::array{json::object{{"name", "crc32c"}},
                                    json::object{{"name", "sharding_indexed"},
                                                 {"configuration", std::move(one)}}});
    one = std::move(outer);
    const auto parsed = sharding_config::from_configuration(one);
    CHECK(parsed.has_value() == (levels <= 8));
    if (parsed) continue;
    CHECK(parsed.failure().code == errc::unsupported);
    CHECK(parsed.failure().message.find("deeper than 8 levels") != std::string::npos);
  }
}

TEST_CASE("configurations that break the specification are refused, naming the member") {
  const auto message = [](const json& configuration) {
    const auto parsed = sharding_config::from_configuration(configuration);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.failure().message.find("sharding_indexed") != std::string::npos);
    return parsed.failure().message;
  };
  for (const char* member : {"chunk_shape", "codecs", "index_codecs"})
    CHECK(message(without(member)).find(member) != std::string::npos);
  CHECK(message(json()).find("configuration is missing") != std::string::npos);
  CHECK(message(with("chunk_shape", json::array{-1})).find("chunk_shape") != std::string::npos);
  CHECK(message(with("codecs", json::array{})).find("codecs") != std::string::npos);
  CHECK(message(with("index_codecs", 3)).find("index_codecs") != std::string::npos);
  CHECK(message(with("index_location", "middle")).find("index_location") != std::string::npos);
  CHECK(message(with("surprise", 1)).find("surprise") != std::string::npos);
}

}}  // namespace sharding_test

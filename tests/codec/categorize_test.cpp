// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/numcodecs/object_codecs.hpp>

#include "support/strings.hpp"

#include <doctest/doctest.h>

#include <string>

namespace categorize_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;
using zp::json;

namespace {

zp::categorize_codec of(const char* type, json::array labels = {"female", "male"}) {
  return codec_of<zp::categorize_codec>(
      json::object{{"labels", std::move(labels)}, {"dtype", "|O"}, {"astype", type}});
}

const zp::tensor_spec four{zp::dtype_kind::string, {4}};
const strings people{"male", "female", "", ""};

}  // namespace

// As numcodecs 0.16.6 writes them.
TEST_CASE("categorize: bytes") {
  const std::pair<const char*, const char*> table[] = {{"|u1", "02010000"},
                                                       {"u1", "02010000"},
                                                       {"|i1", "02010000"},
                                                       {"uint8", "02010000"},
                                                       {"<u2", "0200010000000000"},
                                                       {">u2", "0002000100000000"},
                                                       {">i4", "00000002000000010000000000000000"}};
  for (const auto& [type, hex] : table) {
    CAPTURE(type);
    CHECK(to_hex(encoded_strings(of(type), people, four).value()) == hex);
    CHECK(decoded_strings(of(type), from_hex(hex), four).value() == people);
  }
}

TEST_CASE("categorize: configuration, and the default type") {
  conformance::check_configuration(of("<u2"));
  const auto plain = codec_of<zp::categorize_codec>(json::object{{"labels", json::array{"a"}}});
  CHECK(*zp::configuration_of(plain).find("astype") == json("|u1"));
  CHECK_FALSE(zp::make_codec<zp::categorize_codec>(json()));
  CHECK_FALSE(zp::make_codec<zp::categorize_codec>(json::object{{"labels", json::array{1}}}));
  for (const char* type : {"<f4", "int4", "|O", "", "<u3", "bool"})
    CHECK(zp::make_codec<zp::categorize_codec>(
              json::object{{"labels", json::array{"a"}}, {"astype", type}})
              .failure()
              .code == zp::errc::unsupported);
  CHECK(zp::make_codec<zp::categorize_codec>(
            json::object{{"labels", json::array{"a"}}, {"dtype", "<U5"}})
            .failure()
            .code == zp::errc::unsupported);
  CHECK_FALSE(plain.resolve({zp::dtype_kind::int8, {4}}));
}

TEST_CASE("categorize: as many labels as the type can count") {
  json::array labels(127, json("x"));
  CHECK(zp::configuration_of(of("|i1", labels)).find("labels")->if_array()->size() == 127);
  labels.push_back("y");
  CHECK_FALSE(
      zp::make_codec<zp::categorize_codec>(json::object{{"labels", labels}, {"astype", "|i1"}}));
  CHECK(to_hex(encoded_strings(of("|u1", labels), {"y", "x", "", ""}, four).value()) == "807f0000");
}

TEST_CASE("categorize: what is not a category is an error") {
  CHECK(encoded_strings(of("|u1"), {"male", "other", "", ""}, four).failure().code ==
        zp::errc::invalid_argument);
  for (const char* hex : {"02010003", "020100ff", "020100", "0201000000", ""})
    CHECK(decoded_strings(of("|u1"), from_hex(hex), four).failure().code == zp::errc::corrupt);
  CHECK(decoded_strings(of("<i8"), from_hex("ffffffffffffffff"), {zp::dtype_kind::string, {1}})
            .failure()
            .code == zp::errc::corrupt);
}

TEST_CASE("categorize: an empty label is one") {
  const auto codec = of("|u1", {"", "a"});
  CHECK(to_hex(encoded_strings(codec, {"", "a", "a", ""}, four).value()) == "01020201");
  CHECK(decoded_strings(codec, from_hex("01020200"), four).value() == strings{"", "a", "a", ""});
}

TEST_CASE("categorize: a few bytes cannot get around the budget for text") {
  const auto codec = of("|u1", {std::string(1000, 'x')});
  zp::limited_resource budget(100'000);
  zp::codec_workspace scratch(zp::default_resource(), 1 << 20, &budget);
  strings out(1000);
  const std::vector<std::byte> stored(1000, std::byte{1});
  const auto status = codec.decode(
      stored,
      zp::dense_view(reinterpret_cast<std::byte*>(out.data()), {zp::dtype_kind::string, {1000}}),
      scratch);
  CHECK(status.failure().code == zp::errc::resource_limit);
}

}  // namespace categorize_test

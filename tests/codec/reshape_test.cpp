// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/array_to_array/elements.hpp>

#include "support/filter_golden.hpp"

#include <doctest/doctest.h>

#include <optional>

namespace reshape_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

std::optional<zp::dims> reshaped(std::string_view shape, const zp::dims& from) {
  const auto made =
      zp::make_codec<zp::reshape_codec>(parsed("{\"shape\": " + std::string(shape) + "}"));
  if (!made) return std::nullopt;
  const zp::tensor_spec spec{zp::dtype_kind::uint8, from};
  const auto bound = made->resolve(spec);
  if (!bound) return std::nullopt;
  return bound->encoded_spec(spec).shape;
}

}  // namespace

TEST_CASE("reshape: extents, products of axes and what is left") {
  CHECK(reshaped("[[0, 1], [2], 3]", {100, 50, 64, 3}) == zp::dims{5000, 64, 3});
  CHECK(reshaped("[-1]", {4, 5}) == zp::dims{20});
  CHECK(reshaped("[2, -1, 5]", {4, 5}) == zp::dims{2, 2, 5});
  CHECK(reshaped("[[0, 1], 10, [4]]", {2, 3, 5, 2, 7}) == zp::dims{6, 10, 7});
  CHECK(reshaped("[1, 1]", {}) == zp::dims{1, 1});
  CHECK(reshaped("[]", {1, 1}) == zp::dims{});
  CHECK(reshaped("[[], [0]]", {3}) == zp::dims{1, 3});
  CHECK(reshaped("[[0], -1]", {3, 0}) == zp::dims{3, 0});
}

TEST_CASE("reshape: what cannot be") {
  CHECK_FALSE(reshaped("[3]", {4}));
  CHECK_FALSE(reshaped("[-1, -1]", {4}));
  CHECK_FALSE(reshaped("[3, -1]", {4}));
  CHECK_FALSE(reshaped("[0, -1]", {4}));
  CHECK_FALSE(reshaped("[-2]", {4}));
  CHECK_FALSE(reshaped("[[1], [0]]", {2, 3}));
  CHECK_FALSE(reshaped("[[0], [0]]", {2, 2}));
  CHECK_FALSE(reshaped("[[1, 0], 10]", {2, 3, 10}));
  CHECK_FALSE(reshaped("[[0], [2]]", {2, 1}));
  CHECK_FALSE(reshaped("[[-1]]", {2}));
  CHECK_FALSE(reshaped("[[0, 40]]", {2}));
  // As large, but not the same place: axis 1 is not what lies along the first extent.
  CHECK_FALSE(reshaped("[[1], 2]", {2, 3}));
  CHECK_FALSE(reshaped("[2, [0], 3]", {3, 6}));
  CHECK_FALSE(reshaped("[9223372036854775807, 9223372036854775807]", {4}));
  CHECK_FALSE(reshaped("[[0, 1], -1]", {INT64_MAX, INT64_MAX}));
  CHECK_FALSE(reshaped("\"C\"", {4}));
  CHECK_FALSE(reshaped("[1.5]", {4}));
  std::string many = "[1";
  for (int i = 0; i < 40; ++i) many += ", 1";
  CHECK_FALSE(reshaped(many + "]", {1}));
}

TEST_CASE("reshape: the elements stay in C order, in every layout") {
  codec_conformance(zp::make_codec<zp::reshape_codec>(parsed(R"({"shape": [-1]})")).value());
  codec_conformance(
      zp::make_codec<zp::reshape_codec>(parsed(R"({"shape": [[0], 1, [1]]})")).value(),
      {{zp::dtype_kind::int16, {3, 5}}, {zp::dtype_kind::complex128, {2, 7}}});
  // Strings too: they are moved, not made.
  codec_conformance(zp::make_codec<zp::reshape_codec>(parsed(R"({"shape": [-1, 2]})")).value(),
                    {{zp::dtype_kind::string, {3, 4}}, {zp::dtype_kind::bytes, {2, 1, 6}}});
  const zp::tensor_spec spec{zp::dtype_kind::uint8, {2, 3}};
  const auto codec = zp::make_codec<zp::reshape_codec>(parsed(R"({"shape": [3, 2]})"))
                         .value()
                         .resolve(spec)
                         .value();
  const byte_string elements = from_hex("000102030405");
  CHECK(codec.borrow(zp::dense_view(elements.data(), spec))->data == elements.data());
  CHECK(codec.borrow(zp::dense_view(elements.data(), spec))->shape == zp::dims{3, 2});
  zp::host_view columns = zp::dense_view(elements.data(), spec);
  columns.strides = {1, 2};
  CHECK_FALSE(codec.borrow(columns));
  byte_string out(6);
  zp::codec_workspace scratch;
  REQUIRE(codec.encode(columns, zp::dense_view(out.data(), codec.encoded_spec(spec)), scratch));
  CHECK(to_hex(out) == "000204010305");
  CHECK(codec.encode_fill(zp::bytes_view(elements).first(1), spec).value() == from_hex("00"));
}

TEST_CASE("reshape: a chain moves nothing where the elements are dense") {
  using codecs = zp::codec_registry<zp::reshape_codec, zp::bytes_codec>;
  const zp::codec_spec specs[] = {{"reshape", parsed(R"({"shape": [3, 2]})")},
                                  {"bytes", parsed(R"({"endian": "little"})")}};
  const zp::tensor_spec spec{zp::dtype_kind::uint8, {2, 3}};
  const auto chain = zp::codec_chain::resolve(specs, spec, codecs::table()).value();
  const byte_string elements = from_hex("000102030405");
  zp::codec_workspace scratch;
  CHECK(chain.encode(zp::dense_view(elements.data(), spec), scratch).value().data() ==
        elements.data());
  byte_string out(6);
  REQUIRE(chain.decode(elements, zp::dense_view(out.data(), spec), scratch));
  CHECK(out == elements);
  CHECK(scratch.held() == 0);
}

TEST_CASE("reshape: strings that are copied are counted") {
  using codecs = zp::codec_registry<zp::reshape_codec, zp::vlen_utf8_codec>;
  const zp::codec_spec specs[] = {{"reshape", parsed(R"({"shape": [-1]})")}, {"vlen-utf8"}};
  const zp::tensor_spec spec{zp::dtype_kind::string, {2, 2}};
  const auto chain = zp::codec_chain::resolve(specs, spec, codecs::table()).value();
  const std::vector<std::string> words(4, std::string(100, 'a'));
  zp::codec_workspace scratch;
  const zp::bytes_view stored =
      chain.encode(zp::dense_view(reinterpret_cast<const std::byte*>(words.data()), spec), scratch)
          .value();
  const byte_string kept(stored.begin(), stored.end());
  for (const bool dense : {true, false}) {
    for (const std::size_t budget : {399u, 400u, 799u, 800u}) {
      CAPTURE(dense);
      CAPTURE(budget);
      std::vector<std::string> out(8);
      zp::mutable_host_view into = zp::dense_view(reinterpret_cast<std::byte*>(out.data()), spec);
      if (!dense) into.strides = {4 * sizeof(std::string), 2 * sizeof(std::string)};
      zp::limited_resource text(budget, zp::default_resource());
      zp::codec_workspace own(zp::default_resource(), 1 << 20, &text);
      const auto status = chain.decode(kept, into, own);
      // The strings between the codecs and those of the caller: both at once.
      CHECK(status.has_value() == (budget >= (dense ? 400u : 800u)));
      if (!status) CHECK(status.failure().code == zp::errc::resource_limit);
      if (status) CHECK(out[dense ? 3 : 6] == words[3]);
      text.refund(own.take_charged_text());
    }
  }
}

}  // namespace reshape_test

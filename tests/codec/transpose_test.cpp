// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/array_to_array/transpose.hpp>

#include "support/codec_conformance.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

namespace transpose_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

zp::result<zp::transpose_codec> parse(zp::json order) {
  return zp::make_codec<zp::transpose_codec>(zp::json::object{{"order", std::move(order)}});
}

}  // namespace

TEST_CASE("transpose: conformance") {
  codec_conformance(zp::transpose_codec{{1, 0}});
  codec_conformance(zp::transpose_codec{{2, 0, 1}});
  codec_conformance(zp::transpose_codec{{}});
  codec_conformance(parse("F").value());
}

TEST_CASE("transpose: axis i of the encoded array is axis order[i]") {
  random_source random(9);
  for (int n = 0; n < 200; ++n) {
    const zp::dims shape = random_shape(random, 5, 4);
    std::vector<zp::index_t> axes(shape.rank());
    std::iota(axes.begin(), axes.end(), 0);
    std::shuffle(axes.begin(), axes.end(), random);
    zp::transpose_codec codec;
    codec.order = zp::dims(std::span<const zp::index_t>(axes));
    const zp::tensor_spec spec{zp::dtype_kind::int16, shape};
    sample_tensor tensor(spec, random, sample_tensor::placed::anywhere);
    const zp::host_view decoded = tensor.view();
    const zp::host_view encoded = codec.encode_view(decoded);
    REQUIRE(encoded.spec() == codec.encoded_spec(spec));
    REQUIRE(codec.decode_view(tensor.target()).data == decoded.data);
    REQUIRE(codec.decode_view(tensor.target()).strides == encoded.strides);
    for_each_coordinate(encoded.shape, [&](const zp::dims& at) {
      zp::dims original(at.rank(), 0);
      for (std::size_t i = 0; i < at.rank(); ++i)
        original[static_cast<std::size_t>(codec.order[i])] = at[i];
      REQUIRE(encoded.data + offset_of(at, encoded.strides) ==
              decoded.data + offset_of(original, decoded.strides));
    });
  }
}

TEST_CASE("transpose: C and F of early files become permutations of the rank") {
  const zp::tensor_spec spec{zp::dtype_kind::int8, {2, 3, 4}};
  CHECK(parse("C").value().resolve(spec).value().order == zp::dims{0, 1, 2});
  CHECK(parse("F").value().resolve(spec).value().order == zp::dims{2, 1, 0});
  CHECK(zp::configuration_of(parse("F").value()) == zp::json(zp::json::object{{"order", "F"}}));
  CHECK(zp::configuration_of(parse("F").value().resolve(spec).value()) ==
        zp::json(zp::json::object{{"order", zp::json::array{2, 1, 0}}}));
}

TEST_CASE("transpose: what is not a permutation is refused") {
  using array = zp::json::array;
  CHECK(parse(array{1, 0, 2}));
  CHECK_FALSE(parse(array{1, 1}));
  CHECK_FALSE(parse(array{0, 2}));
  CHECK_FALSE(parse(array{-1, 0}));
  CHECK_FALSE(parse(array{0.0, 1}));
  CHECK_FALSE(parse(array{"0"}));
  CHECK_FALSE(parse(array(33, 0)));
  CHECK_FALSE(parse(array{std::uint64_t{1} << 63}));
  CHECK_FALSE(parse("A"));
  CHECK_FALSE(parse(1));
  CHECK_FALSE(zp::make_codec<zp::transpose_codec>({}));
  CHECK_FALSE(zp::make_codec<zp::transpose_codec>(zp::json(zp::json::object{})));
  // One of another rank than the array's; one built by hand.
  const zp::tensor_spec spec{zp::dtype_kind::int8, {2, 3, 4}};
  CHECK_FALSE(parse(array{1, 0}).value().resolve(spec));
  CHECK_FALSE(zp::transpose_codec{{0, 0, 7}}.resolve(spec));
}

}  // namespace transpose_test

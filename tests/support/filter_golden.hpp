// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Array -> array codecs against what a peer made of the same elements.

#include <zarrpoint/memory/byteswap.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "support/codec_bytes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint_test {

struct filter_case {
  std::string_view type;
  std::string_view configuration;
  std::string_view elements;  ///< hex digits of little-endian elements, along one axis
  std::string_view encoded;
  std::string_view decoded;
};

inline zp::json parsed(std::string_view text) {
  return zp::parse_json(
             zp::bytes_view(reinterpret_cast<const std::byte*>(text.data()), text.size()))
      .value();
}

/// Little-endian bytes as the elements of a type, in the order of this machine.
inline byte_string to_native(byte_string bytes, const zp::dtype& type) {
  if (zp::native_endian == zp::endian::big)
    zp::detail::byteswap_elements(bytes, type.scalar_size());
  return bytes;
}

/// Holds a codec to the case, in both directions, of dense and of scattered elements.
template <class C>
void check_filter(const filter_case& one) {
  CAPTURE(std::string(one.configuration));
  CAPTURE(std::string(one.type));
  const zp::dtype type = zp::parse_dtype(one.type).value();
  const byte_string elements = to_native(from_hex(one.elements), type);
  const zp::tensor_spec spec{type, {static_cast<zp::index_t>(elements.size() / type.size())}};
  const zp::result<C> made = zp::make_codec<C>(parsed(one.configuration));
  REQUIRE_MESSAGE(made, zp::to_string(made.failure()));
  CHECK(zp::configuration_of(zp::make_codec<C>(zp::configuration_of(*made)).value()) ==
        zp::configuration_of(*made));
  const zp::result<C> codec = made->resolve(spec);
  REQUIRE_MESSAGE(codec, zp::to_string(codec.failure()));
  const zp::tensor_spec encoded_spec = codec->encoded_spec(spec);
  const byte_string expected = to_native(from_hex(one.encoded), encoded_spec.type);
  const byte_string decoded = to_native(from_hex(one.decoded), type);
  REQUIRE(zp::byte_count(encoded_spec).value() == expected.size());

  zp::codec_workspace scratch;
  byte_string encoded(expected.size());
  REQUIRE(codec->encode(zp::dense_view(elements.data(), spec),
                        zp::dense_view(encoded.data(), encoded_spec), scratch));
  CHECK(to_hex(encoded) == to_hex(expected));
  byte_string back(decoded.size());
  REQUIRE(codec->decode(zp::dense_view(expected.data(), encoded_spec),
                        zp::dense_view(back.data(), spec), scratch));
  CHECK(to_hex(back) == to_hex(decoded));

  random_source random(5);
  sample_tensor source(spec, random, sample_tensor::placed::anywhere);
  zp::copy_elements(source.target(), zp::dense_view(elements.data(), spec));
  sample_tensor made_of_it(encoded_spec, random, sample_tensor::placed::anywhere);
  REQUIRE(codec->encode(source.view(), made_of_it.target(), scratch));
  CHECK(same_elements(made_of_it.view(), zp::dense_view(expected.data(), encoded_spec)));
  sample_tensor target(spec, random, sample_tensor::placed::anywhere);
  REQUIRE(codec->decode(made_of_it.view(), target.target(), scratch));
  CHECK(same_elements(target.view(), zp::dense_view(decoded.data(), spec)));
}

/// Whether a configuration, of elements of a type, is refused, and with this code.
template <class C>
bool refuses(std::string_view configuration, const zp::tensor_spec& spec, zp::errc code) {
  const zp::result<C> made = zp::make_codec<C>(parsed(configuration));
  if (!made) return made.failure().code == code;
  const zp::result<C> bound = made->resolve(spec);
  return !bound && bound.failure().code == code;
}

}  // namespace zarrpoint_test

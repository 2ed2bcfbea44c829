// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/array_to_array/transpose.hpp>
#include <zarrpoint/codec/array_to_bytes/bytes.hpp>
#include <zarrpoint/codec/base/any_codec.hpp>
#include <zarrpoint/codec/bytes_to_bytes/crc32c_codec.hpp>
#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace any_codec_test {

namespace zp = zarrpoint;

TEST_CASE("any_codec: says what the codec says") {
  const zp::any_codec zstd(zp::zstd_codec{7, true});
  CHECK(zstd.kind() == zp::codec_kind::bytes_to_bytes);
  CHECK(zstd.name() == "zstd");
  CHECK(zstd.spec() ==
        zp::codec_spec{"zstd", zp::json(zp::json::object{{"level", 7}, {"checksum", true}})});
  CHECK(zstd.if_bytes_to_bytes() != nullptr);
  CHECK(zstd.if_array_to_bytes() == nullptr);
  CHECK(zstd.if_array_to_array() == nullptr);
  const zp::any_codec copy = zstd;
  CHECK(copy.if_bytes_to_bytes() == zstd.if_bytes_to_bytes());
}

TEST_CASE("any_codec: resolving binds a codec, or says why not") {
  const zp::tensor_spec spec{zp::dtype_kind::float32, {2, 3}};
  const zp::any_codec transpose(
      zp::make_codec<zp::transpose_codec>(zp::json::object{{"order", "F"}}).value());
  const zp::any_codec bound = transpose.resolve(spec).value();
  CHECK(bound.spec().configuration == zp::json(zp::json::object{{"order", zp::json::array{1, 0}}}));
  CHECK(bound.if_array_to_array()->encoded_spec(spec).shape == zp::dims{3, 2});
  CHECK(transpose.spec().configuration == zp::json(zp::json::object{{"order", "F"}}));
  CHECK_FALSE(zp::any_codec(zp::bytes_codec{}).resolve(spec));
  CHECK(zp::any_codec(zp::zstd_codec{}).resolve(spec));  // has no resolve: bound as it is
}

TEST_CASE("any_codec: parts that a codec does not have") {
  zp::codec_workspace scratch;
  std::array<std::byte, 64> memory{};
  const zp::any_codec zstd(zp::zstd_codec{});
  CHECK_FALSE(zstd.if_bytes_to_bytes()->in_place());
  CHECK_FALSE(zstd.if_bytes_to_bytes()->encode_in_place(memory, 3));
  CHECK_FALSE(zstd.if_bytes_to_bytes()->decode_in_place(memory));
  const zp::any_codec crc{zp::crc32c_codec{}};
  CHECK(crc.if_bytes_to_bytes()->in_place());
  CHECK_FALSE(crc.if_bytes_to_bytes()->encode(memory, memory, scratch));
  CHECK_FALSE(crc.if_bytes_to_bytes()->decode(memory, memory, scratch));
  CHECK_FALSE(crc.if_bytes_to_bytes()->decoded_size(memory));
  const zp::any_codec transpose(zp::transpose_codec{{0}});
  const zp::mutable_host_view view = zp::dense_view(memory.data(), {zp::dtype_kind::uint8, {4}});
  CHECK(transpose.if_array_to_array()->has_views());
  CHECK_FALSE(transpose.if_array_to_array()->encode(zp::as_const(view), view, scratch));
  CHECK_FALSE(transpose.if_array_to_array()->decode(zp::as_const(view), view, scratch));
  const zp::any_codec bytes(zp::bytes_codec{});
  CHECK(bytes.if_array_to_bytes()->fixed_size());
  CHECK(bytes.if_array_to_bytes()->encoded_size(zp::as_const(view)).value() == 4);
  CHECK(bytes.if_array_to_bytes()->borrow(zp::as_const(view))->data() == memory.data());
}

}  // namespace any_codec_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/array_to_bytes/bytes.hpp>

#include "support/codec_conformance.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace bytes_test {

namespace zp = zarrpoint;
using namespace zarrpoint_test;

namespace {

std::vector<std::byte> encoded(const zp::bytes_codec& codec, const zp::host_view& view) {
  zp::codec_workspace scratch;
  std::vector<std::byte> out(codec.encoded_bound(view.spec()));
  REQUIRE(codec.encode(view, out, scratch).value() == out.size());
  return out;
}

zp::json object(std::string key, zp::json value) {
  zp::json out;
  out.set(std::move(key), std::move(value));
  return out;
}

}  // namespace

TEST_CASE("bytes: conformance in both byte orders") {
  codec_conformance(zp::bytes_codec{zp::endian::little});
  codec_conformance(zp::bytes_codec{zp::endian::big});
  codec_conformance(zp::bytes_codec{},
                    {{zp::dtype_kind::uint8, {5}}, {zp::dtype_kind::bool_, {5}}});
}

TEST_CASE("bytes: both byte orders, against a naive reversal of every scalar") {
  random_source random(5);
  for (const zp::dtype_kind kind : zp::all_dtype_kinds) {
    const zp::dtype type(kind);
    if (type.is_variable()) continue;
    for (const zp::dims& shape : {zp::dims{3, 4}, zp::dims{6}, zp::dims{}}) {
      sample_tensor tensor({type, shape}, random, sample_tensor::placed::anywhere);
      std::vector<std::byte> expected;
      for_each_coordinate(shape, [&](const zp::dims& at) {
        const std::byte* const element = tensor.view().data + offset_of(at, tensor.view().strides);
        expected.insert(expected.end(), element, element + type.size());
      });
      std::vector<std::byte> reversed = expected;
      for (std::size_t i = 0; i < reversed.size(); i += type.scalar_size())
        std::reverse(reversed.begin() + static_cast<std::ptrdiff_t>(i),
                     reversed.begin() + static_cast<std::ptrdiff_t>(i + type.scalar_size()));
      const bool is_little = zp::native_endian == zp::endian::little;
      CAPTURE(zp::to_string(type));
      CHECK(encoded({zp::endian::little}, tensor.view()) == (is_little ? expected : reversed));
      CHECK(encoded({zp::endian::big}, tensor.view()) == (is_little ? reversed : expected));
    }
  }
}

TEST_CASE("bytes: complex numbers are real part, imaginary part") {
  const std::array<float, 2> value{1.0f, 2.0f};
  const zp::host_view view = zp::dense_view(reinterpret_cast<const std::byte*>(value.data()),
                                            {zp::dtype_kind::complex64, {}});
  const unsigned char expected[] = {0x3f, 0x80, 0, 0, 0x40, 0, 0, 0};
  const auto bytes = encoded({zp::endian::big}, view);
  CHECK(std::equal(bytes.begin(), bytes.end(), std::begin(expected),
                   [](std::byte a, unsigned b) { return a == static_cast<std::byte>(b); }));
}

TEST_CASE("bytes: whatever is stored for a bool, what arrives is 0 or 1") {
  const std::array<std::byte, 4> stored{std::byte{0}, std::byte{1}, std::byte{2}, std::byte{255}};
  std::array<bool, 8> values{};
  zp::codec_workspace scratch;
  zp::mutable_host_view into =
      zp::dense_view(reinterpret_cast<std::byte*>(values.data()), {zp::dtype_kind::bool_, {2, 2}});
  for (const zp::dims& strides : {zp::dims{2, 1}, zp::dims{1, 2}, zp::dims{4, 2}}) {
    into.strides = strides;
    values.fill(false);
    REQUIRE(zp::bytes_codec{}.decode(stored, into, scratch));
    const auto at = [&](zp::index_t i, zp::index_t j) {
      return values[static_cast<std::size_t>(i * strides[0] + j * strides[1])];
    };
    CHECK_FALSE(at(0, 0));
    CHECK(at(0, 1));
    CHECK(at(1, 0));
    CHECK(at(1, 1));
  }
  CHECK_FALSE(zp::bytes_codec{}.target(into));
  CHECK_FALSE(zp::bytes_codec{}.is_raw({zp::dtype_kind::bool_, {4}}));
}

TEST_CASE("bytes: lends the memory of dense views in native order only") {
  std::array<float, 6> values{1, 2, 3, 4, 5, 6};
  const auto memory = reinterpret_cast<std::byte*>(values.data());
  zp::mutable_host_view view = zp::dense_view(memory, {zp::dtype_kind::float32, {2, 3}});
  const zp::bytes_codec native{zp::native_endian};
  const zp::bytes_codec other{zp::native_endian == zp::endian::little ? zp::endian::big
                                                                      : zp::endian::little};
  REQUIRE(native.borrow(zp::as_const(view)));
  CHECK(native.borrow(zp::as_const(view))->data() == memory);
  CHECK(native.target(view)->size() == 24);
  CHECK_FALSE(other.borrow(zp::as_const(view)));
  CHECK_FALSE(other.target(view));
  std::swap(view.shape[0], view.shape[1]);
  std::swap(view.strides[0], view.strides[1]);
  CHECK_FALSE(native.borrow(zp::as_const(view)));
  CHECK_FALSE(native.target(view));
}

TEST_CASE("bytes: configuration") {
  using zp::bytes_codec;
  CHECK(zp::make_codec<bytes_codec>({}).value().order == std::nullopt);
  CHECK(zp::make_codec<bytes_codec>(object("endian", "little")).value().order ==
        zp::endian::little);
  CHECK(zp::make_codec<bytes_codec>(object("endian", "big")).value().order == zp::endian::big);
  CHECK_FALSE(zp::make_codec<bytes_codec>(object("endian", "middle")));
  CHECK_FALSE(zp::make_codec<bytes_codec>(object("endian", 1)));
  CHECK(zp::configuration_of(bytes_codec{}) == zp::json(zp::json::object{}));

  // Needed exactly where there is an order.
  for (const zp::dtype_kind kind : zp::all_dtype_kinds) {
    const zp::tensor_spec spec{kind, {2}};
    CHECK(bytes_codec{}.resolve(spec).has_value() ==
          (spec.type.scalar_size() == 1 && !spec.type.is_variable()));
    CHECK(bytes_codec{zp::endian::big}.resolve(spec).has_value() == !spec.type.is_variable());
  }
  CHECK(bytes_codec{}.resolve({zp::dtype_kind::float32, {2}}).failure().message.find("endian") !=
        std::string::npos);
}

TEST_CASE("bytes: a record without endian is little-endian, as zarr-python 3.1 writes it") {
  const zp::dtype record =
      zp::make_record({{"a", zp::dtype_kind::uint16}, {"b", zp::dtype_kind::int8}}).value();
  const zp::tensor_spec spec{record, {1}};
  const auto codec = zp::bytes_codec{}.resolve(spec);
  REQUIRE(codec.has_value());
  const std::array stored{std::byte{1}, std::byte{2}, std::byte{3}};
  std::array<std::byte, 3> read{};
  zp::codec_workspace scratch;
  REQUIRE(codec->decode(stored, zp::dense_view(read.data(), spec), scratch));
  std::uint16_t first = 0;
  std::memcpy(&first, read.data(), 2);
  CHECK(first == 0x0201);
  CHECK(encoded(*codec, zp::dense_view(static_cast<const std::byte*>(read.data()), spec)) ==
        std::vector<std::byte>(stored.begin(), stored.end()));
}

TEST_CASE("bytes: whatever is stored for the bools of a record, what arrives is 0 or 1") {
  const zp::dtype record = zp::make_record({{"a", zp::dtype_kind::uint16},
                                            {"b", zp::dtype_kind::bool_},
                                            {"c", zp::dtype_kind::int8}})
                               .value();
  const zp::tensor_spec spec{record, {3}};
  for (const zp::endian order : {zp::endian::little, zp::endian::big}) {
    zp::bytes_codec given;
    given.order = order;
    const zp::bytes_codec codec = given.resolve(spec).value();
    std::vector<std::byte> stored(12), back(12);
    for (std::size_t i = 0; i < 12; ++i) stored[i] = static_cast<std::byte>(16 * i);
    zp::codec_workspace scratch;
    REQUIRE(codec.decode(stored, zp::dense_view(back.data(), spec), scratch));
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(zp::load_le<std::uint16_t>(back.data() + 4 * i) ==
            (order == zp::native_endian
                 ? zp::load_le<std::uint16_t>(stored.data() + 4 * i)
                 : static_cast<std::uint16_t>(16 * (4 * i) << 8 | 16 * (4 * i + 1))));
      CHECK(back[4 * i + 2] == std::byte{1});
      CHECK(back[4 * i + 3] == stored[4 * i + 3]);
    }
  }
}

TEST_CASE("bytes: another length is an error that says both") {
  std::array<std::byte, 9> stored{};
  std::array<float, 2> values{};
  zp::codec_workspace scratch;
  const auto into =
      zp::dense_view(reinterpret_cast<std::byte*>(values.data()), {zp::dtype_kind::float32, {2}});
  for (const std::size_t size : {0u, 1u, 7u, 9u}) {
    const zp::result<void> status = zp::bytes_codec{zp::endian::little}.decode(
        zp::bytes_view(stored).first(size), into, scratch);
    REQUIRE_FALSE(status);
    CHECK(status.failure().code == zp::errc::corrupt);
    CHECK(status.failure().message == std::to_string(size) + " bytes where float32[2] has 8");
  }
}

}  // namespace bytes_test

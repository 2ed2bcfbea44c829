// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/array_to_bytes/vlen_utf8.hpp>
#include <zarrpoint/codec/kit/vlen.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>

namespace vlen_test {

namespace zp = zarrpoint;

namespace {

std::string joined(const zp::host_view& view) {
  std::string out;
  const auto status = zp::detail::for_each_string<const std::string>(
      view, [&](const std::string& text) -> zp::result<void> {
        if (text == "stop") return zp::error{zp::errc::cancelled, "stopped"};
        out += text;
        return {};
      });
  return status ? out : out + "!";
}

}  // namespace

TEST_CASE("for_each_string: row-major order of any strides, up to a failure") {
  std::array<std::string, 6> strings{"a", "b", "c", "d", "e", "f"};
  const auto size = static_cast<zp::index_t>(sizeof(std::string));
  const auto* const first = reinterpret_cast<const std::byte*>(strings.data());
  CHECK(joined(zp::dense_view(first, {zp::dtype_kind::string, {2, 3}})) == "abcdef");
  CHECK(joined({first, zp::dtype_kind::string, {2, 3}, {size, 2 * size}, {}, {}}) == "acebdf");
  CHECK(joined(zp::dense_view(first, {zp::dtype_kind::bytes, {}})) == "a");
  CHECK(joined(zp::dense_view(first, {zp::dtype_kind::bytes, {2, 0}})).empty());
  strings[3] = "stop";
  CHECK(joined(zp::dense_view(first, {zp::dtype_kind::string, {6}})) == "abc!");
}

TEST_CASE("vlen: only elements of its type, and no more than can be counted") {
  const zp::vlen_bytes_codec codec;
  CHECK(codec.resolve({zp::dtype_kind::bytes, {3}}));
  CHECK_FALSE(codec.resolve({zp::dtype_kind::string, {3}}));
  CHECK_FALSE(codec.resolve({zp::dtype_kind::uint8, {3}}));
  CHECK_FALSE(codec.resolve({zp::dtype_kind::bytes, {zp::index_t{1} << 32}}));
  CHECK(codec.encoded_bound({zp::dtype_kind::bytes, {3}}) == UINT64_MAX);
}

}  // namespace vlen_test

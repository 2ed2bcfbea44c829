// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/codec/base/source.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>

#include <doctest/doctest.h>

namespace source_test {

namespace zp = zarrpoint;

// A source of another kind is tested in tests/array/sharding_codec_test.cpp.
TEST_CASE("a table is a source of its codecs and of no others") {
  const zp::detail::table_codecs source(zp::default_codecs::table());
  const zp::tensor_spec chunk{zp::dtype_kind::int8, {4}};
  CHECK(source.knows("zstd"));
  CHECK(source.knows("numcodecs.zstd"));
  CHECK_FALSE(source.knows("sharding_indexed"));
  CHECK(source.make({"zstd"}, chunk, {}).value().name() == "zstd");
  CHECK(source.make({"someday"}, chunk, {}).failure().code == zp::errc::unsupported);
}

}  // namespace source_test

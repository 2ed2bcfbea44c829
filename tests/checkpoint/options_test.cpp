// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/options.hpp>

#include <doctest/doctest.h>

namespace options_test {

using namespace zarrpoint;

TEST_CASE("the last rule that matches and sets a thing wins") {
  const std::vector<leaf_rule> rules{{.cast = dtype(dtype_kind::float16)},
                                     {.glob = "a/*", .cast = dtype(dtype_kind::bfloat16)},
                                     {.glob = "a/x", .chunk_byte_size = 4096}};
  CHECK(*detail::last_set(rules, "b", &leaf_rule::cast) == dtype_kind::float16);
  CHECK(*detail::last_set(rules, "a/x", &leaf_rule::cast) == dtype_kind::bfloat16);
  CHECK(*detail::last_set(rules, "a/x", &leaf_rule::chunk_byte_size) == 4096);
  CHECK(detail::last_set(rules, "a/y", &leaf_rule::chunk_byte_size) == nullptr);
  CHECK(detail::last_set(rules, "a/y", &leaf_rule::codecs) == nullptr);
}

TEST_CASE("casts between numbers have a meaning, those to strings have none") {
  CHECK(detail::check_cast(dtype_kind::float32, dtype_kind::bool_));
  CHECK(detail::check_cast(dtype_kind::string, dtype_kind::string));
  CHECK(detail::check_cast(dtype_kind::string, dtype_kind::int8).failure().code ==
        errc::unsupported);
  CHECK_FALSE(detail::check_cast(dtype_kind::int8, dtype()));
}

TEST_CASE("chains have a name") {
  CHECK(raw_codecs().size() == 1);
  CHECK(*zstd_codecs(7)[1].configuration.find("level") == node(7));
  CHECK(zstd_codecs().back().name == "crc32c");
  CHECK(*blosc_codecs(7)[1].configuration.find("clevel") == node(7));
  CHECK(blosc_codecs().back().name == "crc32c");
}

}  // namespace options_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/options.hpp>

#include <doctest/doctest.h>

#include <string>

namespace glob_test {

using zarrpoint::detail::glob_match;

TEST_CASE("a single star stays within one segment") {
  CHECK(zarrpoint::detail::glob_match("layers/*/w", "layers/0/w"));
  CHECK(zarrpoint::detail::glob_match("layers/*/w", "layers//w"));
  CHECK_FALSE(zarrpoint::detail::glob_match("layers/*/w", "layers/0/1/w"));
  CHECK(zarrpoint::detail::glob_match("*", "bias"));
  CHECK_FALSE(zarrpoint::detail::glob_match("*", "layers/bias"));
  CHECK(zarrpoint::detail::glob_match("*.weight", "conv1.weight"));
  CHECK_FALSE(zarrpoint::detail::glob_match("*.weight", "conv1.bias"));
  CHECK(zarrpoint::detail::glob_match("a*b*c", "aXbYbZc"));
  CHECK_FALSE(zarrpoint::detail::glob_match("a*b*c", "aXb/Yc"));
}

TEST_CASE("two stars cross segments, and with a slash may stand for nothing") {
  CHECK(zarrpoint::detail::glob_match("**", ""));
  CHECK(zarrpoint::detail::glob_match("**", "a/b/c"));
  CHECK(zarrpoint::detail::glob_match("**/bias", "bias"));
  CHECK(zarrpoint::detail::glob_match("**/bias", "layers/0/bias"));
  CHECK_FALSE(zarrpoint::detail::glob_match("**/bias", "layers/0/nobias"));
  CHECK(zarrpoint::detail::glob_match("layers/**", "layers/0/w"));
  CHECK(zarrpoint::detail::glob_match("a/**/z", "a/z"));
  CHECK(zarrpoint::detail::glob_match("a/**/z", "a/b/c/z"));
  CHECK_FALSE(zarrpoint::detail::glob_match("a/**/z", "a/b/c/y"));
  CHECK(zarrpoint::detail::glob_match("**w", "layers/0/w"));
  CHECK(zarrpoint::detail::glob_match("**/*.q", "a/b/x.q"));
}

TEST_CASE("other characters match themselves") {
  CHECK(zarrpoint::detail::glob_match("", ""));
  CHECK_FALSE(zarrpoint::detail::glob_match("", "a"));
  CHECK_FALSE(zarrpoint::detail::glob_match("a", ""));
  CHECK(zarrpoint::detail::glob_match("a?c", "abc"));
  CHECK_FALSE(zarrpoint::detail::glob_match("a?c", "a/c"));
  CHECK_FALSE(zarrpoint::detail::glob_match("a?", "a"));
  CHECK(zarrpoint::detail::glob_match("[x]", "[x]"));
}

TEST_CASE("a pattern made to be slow is not") {
  const std::string name(2000, 'a');
  CHECK_FALSE(zarrpoint::detail::glob_match("*a*a*a*a*a*a*a*a*b", name));
  CHECK_FALSE(zarrpoint::detail::glob_match("**a**a**a**a**a**a**b", name));
}

}  // namespace glob_test

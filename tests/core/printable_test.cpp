// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/printable.hpp>

#include <doctest/doctest.h>

#include <string>

namespace printable_test {

using namespace zarrpoint;

TEST_CASE("text from a file is made fit for a message") {
  CHECK(detail::printable("héllo", 80) == "héllo");
  CHECK(detail::printable(std::string_view("a\n\x1b[2J\0\x7f", 8), 80) == "a??[2J??");
  CHECK(detail::printable("a\xff\xc3", 80) == "a??");
  CHECK(detail::in_quotes("w") == "\"w\"");
}

TEST_CASE("long text is cut between characters") {
  CHECK(detail::printable("aaaa", 4) == "aaaa");
  CHECK(detail::printable("aaaaa", 4) == "aaaa...");
  CHECK(detail::printable("aaaé", 4) == "aaa...");
  CHECK(detail::printable(std::string(1000, '\1'), 10).size() <= 13);
  CHECK(detail::in_quotes(std::string(1 << 20, 'x')).size() < 100);
}

}  // namespace printable_test

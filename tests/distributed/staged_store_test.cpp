// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/distributed/save/group_save_place.hpp>
#include <zarrpoint/store/file/file_store.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace staged_store_test {

using namespace zarrpoint;
using detail::open_staged;
namespace fs = std::filesystem;

TEST_CASE("staged_store: the directory beside the target, and no other") {
  const test::temp_directory folder;
  fs::create_directories(folder / "x/.c.tmp/inner");
  fs::create_directories(folder / "y");
  const auto parent = file_store::open(folder / "x").value();
  const stored_place target{parent, store_key::parse("c").value()};
  const auto store = open_staged(target, ".c.tmp", false).value();
  REQUIRE(store.put(store_key::parse("a").value(), as_bytes(std::string_view("text"))));
  CHECK(test::read_file(folder / "x/.c.tmp/a") == "text");
  for (const char* name : {"", ".", "..", "../y", ".c.tmp/../../y", ".c.tmp/inner", "/", "a\nb"}) {
    CAPTURE(name);
    const auto refused = open_staged(target, name, false);
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::corrupt);
    CHECK(refused.failure().message.find("beside") != std::string::npos);
  }
  CHECK_FALSE(open_staged(target, "not there", false));
}

}  // namespace staged_store_test

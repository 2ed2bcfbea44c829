// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/interop/gguf/gguf_scheme.hpp>

#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace gguf_scheme_test {

namespace zp = zarrpoint;
using namespace zarrpoint;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/gguf/";

context reading() {
  context out = default_context();
  out.stores = gguf_stores::table();
  return out;
}

TEST_CASE("gguf scheme: paths and URLs, into the file too") {
  const test::temp_directory made;
  const std::string path = made.path().string() + "/model";  // whatever its name
  std::filesystem::copy_file(golden + "small.gguf", path);
  for (const std::string& place : {path, "gguf://" + path, "file://" + path}) {
    CAPTURE(place);
    CHECK(zp::open(place, reading()));
    const auto at = zp::open(place, reading()).value();
    CHECK(at.load<std::vector<float>>("plain.one").value() == std::vector<float>{7});
  }
  CHECK_FALSE(zp::open(path));  // without the schemes
  CHECK(zp::open("gguf://" + path + ".none", reading()).failure().code == errc::not_found);
  CHECK(zp::open("gguf://" + golden + "index.json", reading()).failure().code == errc::corrupt);
  const std::vector<float> mine{1};
  CHECK(save("gguf://" + path, {{"w", mine}}, {}, reading()).failure().code == errc::unsupported);

  const auto found = gguf::find_file(path + "/plain.one").value();
  REQUIRE(found);
  CHECK(found->key.str() == "plain.one");
  CHECK_FALSE(gguf::find_file(made.path().string()).value());
  CHECK_FALSE(gguf::find_file(golden + "index.json").value());
  CHECK_FALSE(gguf::find_file(path + "/a/../b"));
}

}  // namespace gguf_scheme_test

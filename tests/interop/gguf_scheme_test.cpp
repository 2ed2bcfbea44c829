// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/interop/gguf/gguf_scheme.hpp>

#include "support/gguf_bytes.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
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
  CHECK_FALSE(gguf::find_file(path + "/a/../b").has_value());
}

TEST_CASE("gguf scheme: a header takes no more than the budget of the caller") {
  test::gguf_bytes file;
  file.head(3, 0, 1).text("a").number<std::uint32_t>(9).number<std::uint32_t>(0);
  file.number<std::uint64_t>(20'000).raw(std::string(20'000, 'x')).pad(32);
  const test::temp_directory made;
  const std::string path = made.path().string() + "/model";
  test::write_file(path, file.str());
  CHECK(gguf::find_file(path).value());
  CHECK(gguf::find_file(path, std::uint64_t{1} << 30).value());
  CHECK(gguf::find_file(path, std::uint64_t{1} << 20).failure().code == errc::resource_limit);
  context tight = reading();
  tight.limit.memory = std::size_t{1} << 20;
  for (const std::string& place : {path, "gguf://" + path}) {
    CAPTURE(place);
    CHECK(zp::open(place, reading()));
    CHECK(zp::open(place, tight).failure().code == errc::resource_limit);
  }
}

}  // namespace gguf_scheme_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint.hpp>
#include <zarrpoint/interop/gguf/gguf_store.hpp>

#include "support/gguf_bytes.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gguf_format_test {

namespace zp = zarrpoint;
using namespace zarrpoint;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/gguf/";

context reading() {
  context out = default_context();
  out.stores = formats<gguf::format>();
  return out;
}

TEST_CASE("gguf format: paths and URLs, into the file too") {
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

  const store_table table = formats<gguf::format>();
  const stored_place found = table.open(path + "/plain.one", {}).value();
  CHECK(found.key.str() == "plain.one");
  CHECK(found.format == "GGUF 3");
  CHECK(table.open(made.path().string(), {}).value().format.empty());
  CHECK_FALSE(table.open(golden + "index.json", {}));
  CHECK_FALSE(table.open(path + "/a/../b", {}));
}

TEST_CASE("gguf format: a header takes no more than the budget of the caller") {
  test::gguf_bytes file;
  file.head(3, 0, 1).text("a").number<std::uint32_t>(9).number<std::uint32_t>(0);
  file.number<std::uint64_t>(20'000).raw(std::string(20'000, 'x')).pad(32);
  const test::temp_directory made;
  const std::string path = made.path().string() + "/model";
  test::write_file(path, file.str());
  context wide = reading();
  wide.limit.memory = std::size_t{1} << 30;
  CHECK(zp::open(path, wide));
  context tight = reading();
  tight.limit.memory = std::size_t{1} << 20;
  for (const std::string& place : {path, "gguf://" + path}) {
    CAPTURE(place);
    CHECK(zp::open(place, reading()));
    CHECK(zp::open(place, tight).failure().code == errc::resource_limit);
  }
}

}  // namespace gguf_format_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/verify/verify.hpp>
#include <zarrpoint/checkpoint/verify/verify_leaf.hpp>
#include <zarrpoint/exec/stop.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace verify_leaf_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

TEST_CASE("verify_leaf: counts chunks, names the damaged one, and adds to the report") {
  const test::temp_directory dir;
  save_options options;
  options.rules.push_back({.glob = "w", .chunk_shape = dims{100}, .codecs = zstd_codecs()});
  const std::string path = dir / "m.zarr";
  save(path, {{"w", std::vector<float>(1000, 1.5F)}}, options).value();

  const array source = open(path).value().as_array("w").value();
  leaf_verification leaf{.name = "w"};
  verify_report report;
  CHECK(detail::verify_leaf(source, leaf, report, {}).value() == 0);
  CHECK(leaf.result == verdict::ok);
  const std::uint64_t whole = leaf.chunks;
  CHECK(whole > 0);
  CHECK(leaf.bytes == 4000);
  CHECK(report.failures.empty());

  const fs::path object = fs::path(path) / "w/c.0";
  std::string bytes = test::read_file(object);
  bytes[bytes.size() / 4] = static_cast<char>(bytes[bytes.size() / 4] ^ 1);
  test::write_file(object, bytes);
  leaf = {.name = "w"};
  const array damaged = open(path).value().as_array("w").value();
  CHECK(detail::verify_leaf(damaged, leaf, report, {}));
  CHECK(leaf.result == verdict::faulty);
  CHECK(leaf.chunks < whole);
  REQUIRE(report.failure_count == 1);
  CHECK(report.failures.front().leaf == "w");
  CHECK(report.failures.front().is_fault);
}

TEST_CASE("verify_leaf: objects under the keys of another chunk key encoding are not passed over") {
  const memory_store store;
  std::string separator = ".";
  const auto verified = [&] {
    const std::string document =
        R"({"zarr_format":3,"node_type":"array","shape":[4,4],"data_type":"int8","fill_value":0,)"
        R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,2]}},)"
        R"("chunk_key_encoding":{"name":"v2","configuration":{"separator":")" +
        separator + R"("}},"codecs":[{"name":"bytes"}]})";
    store.put(store_key::parse("zarr.json").value(), as_bytes(document)).value();
    const array source = open(store).value().as_array("").value();
    leaf_verification leaf{.name = ""};
    verify_report report;
    detail::verify_leaf(source, leaf, report, {}).value();
    std::string said = std::string(to_string(leaf.result)) + ' ' + std::to_string(leaf.chunks);
    for (const verify_failure& one : report.failures) said += ": " + one.what.message;
    return said;
  };
  const auto put = [&](const char* key) {
    store.put(store_key::parse(key).value(), as_bytes("abcd")).value();
  };
  put("0/1");
  put("1/1");
  put("9/9");  // beyond the grid
  CHECK(verified() ==
        "not verified 0: it has no stored chunk under the keys of its metadata; 2 objects have the "
        "keys of chunks in another form, such as \"1/1\" where \"1.1\" is looked for: "
        "chunk_key_encoding in zarr.json is probably wrong");
  put("0.0");
  CHECK(verified().starts_with("not verified 1: 2 objects have the keys"));
  separator = "/";
  CHECK(verified().starts_with("not verified 2: 1 object has the keys"));
  store.erase(store_key::parse("0.0").value()).value();
  CHECK(verified() == "ok 2");
}

TEST_CASE("verify_leaf: a stop ends it, and says so") {
  const test::temp_directory dir;
  const std::string path = dir / "m.zarr";
  save(path, {{"w", std::vector<float>(10, 1.5F)}}).value();
  stop_source stop;
  context how = default_context();
  how.stop = stop.token();
  CHECK(detail::not_stopped(how));
  const array source = open(path, how).value().as_array("w").value();
  leaf_verification leaf{.name = "w"};
  verify_report report;
  CHECK(detail::verify_leaf(source, leaf, report, {}));
  stop.request_stop();
  CHECK(detail::not_stopped(how).failure().code == errc::cancelled);
  CHECK(detail::verify_leaf(source, leaf, report, {}).failure().code == errc::cancelled);
}

}  // namespace verify_leaf_test

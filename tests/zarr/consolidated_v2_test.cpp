// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include "json_input.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace consolidated_v2_test {

using namespace zarrpoint;
using json_input::golden;
using json_input::json_of;

TEST_CASE("what zarr-python wrote") {
  const auto nodes =
      detail::parse_zmetadata(golden("peers/zarr-python/v2-tree/.zmetadata")).value();
  std::string seen;
  for (const detail::v2_node& one : nodes)
    seen += one.path + (one.kind == node_kind::array ? "=array" : "=group") +
            dump_json(one.attributes) + " ";
  CHECK(seen ==
        R"(=group{"model":"demo","n":3} layer=group{"depth":1} layer/b=array{} w=array{} )");
  CHECK(*nodes[2].document.find("dtype") == json("<i2"));
  CHECK(
      detail::parse_zmetadata(golden("zarr-python/v2/consolidated/minimal.json")).value().empty());
  const auto other =
      detail::parse_zmetadata(golden("zarr-python/v2/consolidated/with_array_and_group.json"));
  CHECK(other.value().size() == 2);
}

TEST_CASE("written sorted by key, and read back") {
  const json group = json_of(R"({"zarr_format":2})");
  const json array = json_of(R"({"zarr_format":2,"shape":[]})");
  const std::vector<detail::v2_node> nodes = {{"w", node_kind::array, array, json_of(R"({"a":1})")},
                                              {"", node_kind::group, group, json()},
                                              {"a/b", node_kind::group, group, json()}};
  const std::string text = json_input::text_of(detail::to_zmetadata(nodes));
  CHECK(
      text ==
      R"({"metadata":{".zgroup":{"zarr_format":2},"a/b/.zgroup":{"zarr_format":2},)"
      R"("w/.zarray":{"zarr_format":2,"shape":[]},"w/.zattrs":{"a":1}},"zarr_consolidated_format":1})");
  const auto back = detail::parse_zmetadata(json_of(text)).value();
  CHECK(back == std::vector<detail::v2_node>{nodes[1], nodes[2], nodes[0]});
}

TEST_CASE("other documents and attributes of no node are passed over") {
  const auto nodes = detail::parse_zmetadata(json_of(
      R"({"zarr_consolidated_format":1,"metadata":{"a/.zattrs":{},".zother":3,"b/.zgroup":{}}})"));
  REQUIRE(nodes);
  REQUIRE(nodes->size() == 1);
  CHECK(nodes->front().path == "b");
}

TEST_CASE("what is refused") {
  for (const char* text :
       {"{}", "[]", "null", R"({"metadata":{}})", R"({"zarr_consolidated_format":1})",
        R"({"zarr_consolidated_format":2,"metadata":{}})",
        R"({"zarr_consolidated_format":"1","metadata":{}})",
        R"({"zarr_consolidated_format":1,"metadata":[]})",
        R"({"zarr_consolidated_format":1,"metadata":{".zgroup":1}})",
        R"({"zarr_consolidated_format":1,"metadata":{"/.zgroup":{}}})",
        R"({"zarr_consolidated_format":1,"metadata":{"../a/.zgroup":{}}})",
        R"({"zarr_consolidated_format":1,"metadata":{"a//b/.zarray":{}}})",
        R"({"zarr_consolidated_format":1,"metadata":{"/a/.zattrs":{}}})",
        R"({"zarr_consolidated_format":1,"metadata":{"a/.zgroup":{},"a/.zarray":{}}})"}) {
    CAPTURE(text);
    CHECK_FALSE(detail::parse_zmetadata(json_of(text)));
  }
  const detail::v2_node outside{"../a", node_kind::group, json::object{}, json()};
  CHECK(detail::to_zmetadata({&outside, 1}).failure().code == errc::invalid_argument);
  const std::vector<detail::v2_node> twice(2, {"a", node_kind::group, json::object{}, json()});
  CHECK(detail::to_zmetadata(twice).failure().code == errc::invalid_argument);
}

TEST_CASE("any value in any place: an error, or nodes that read back") {
  json_input::for_each_damage(
      golden("peers/zarr-python/v2-tree/.zmetadata"), [](const json& damaged) {
        const auto nodes = detail::parse_zmetadata(damaged);
        if (nodes &&
            detail::parse_zmetadata(detail::to_zmetadata(*nodes).value()).value() != *nodes)
          FAIL_CHECK(dump_json(damaged));
      });
}

}  // namespace consolidated_v2_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include "../support/commit_node.hpp"
#include "../support/counting_store.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace contents_test {

using namespace zarrpoint;

namespace {

const std::string array_v3 =
    R"({"zarr_format":3,"node_type":"array","shape":[2],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},)"
    R"("chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}]})";
const std::string group_v3 = R"({"zarr_format":3,"node_type":"group"})";
const std::string array_v2 =
    R"({"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"|i1","compressor":null,"filters":null,"fill_value":0,"order":"C"})";
const std::string group_v2 = R"({"zarr_format":2})";

using documents = std::vector<std::pair<std::string, std::string>>;

memory_store stored(const documents& files) {
  memory_store store;
  for (const auto& [key, text] : files)
    store.put(store_key::parse(key).value(), as_bytes(text)).value();
  return store;
}

result<detail::checkpoint_contents> contents(const documents& files) {
  return detail::read_contents(stored(files), {});
}

/// In a store that does not say that it is cheap to list.
result<detail::checkpoint_contents> believed(const documents& files) {
  return detail::read_contents(zarrpoint_test::counting_store(stored(files), false), {});
}

std::vector<std::string> names_in(const result<detail::checkpoint_contents>& found) {
  REQUIRE_MESSAGE(found, (found ? "" : to_string(found.failure())));
  std::vector<std::string> out;
  for (const detail::stored_leaf& leaf : found->leaves) out.push_back(leaf.name);
  return out;
}
std::vector<std::string> names(const documents& files) { return names_in(contents(files)); }

using list = std::vector<std::string>;

std::string consolidated_v3(const std::string& metadata) {
  return R"({"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{)" +
         metadata + "}}}";
}
std::string consolidated_v2(const std::string& metadata) {
  return R"({"zarr_consolidated_format":1,"metadata":{)" + metadata + "}}";
}

}  // namespace

TEST_CASE("a hierarchy is walked when nothing is consolidated") {
  CHECK(names({{"zarr.json", group_v3},
               {"b/zarr.json", array_v3},
               {"a/zarr.json", group_v3},
               {"a/x/zarr.json", array_v3}}) == list{"a/x", "b"});
  CHECK(names({{".zgroup", group_v2},
               {"b/.zarray", array_v2},
               {"a/.zgroup", group_v2},
               {"a/x/.zarray", array_v2}}) == list{"a/x", "b"});
  CHECK(names({{"zarr.json", group_v3}}) == list{});
}

TEST_CASE("arrays with one text for a document share it, but for their attributes") {
  const auto documents_of = [](const documents& files) {
    const auto leaves = contents(files).value().leaves;
    std::vector<const detail::stored_document*> out;
    for (const detail::stored_leaf& leaf : leaves) out.push_back(leaf.document.get());
    return out;
  };
  const auto v3 = documents_of({{"zarr.json", group_v3},
                                {"a/zarr.json", array_v3},
                                {"b/zarr.json", array_v3},
                                {"c/zarr.json", array_v3 + " "}});
  REQUIRE(v3.size() == 3);
  CHECK(v3[0] == v3[1]);
  CHECK(v3[1] != v3[2]);
  const documents files = {{".zgroup", group_v2},   {"a/.zarray", array_v2},
                           {"b/.zarray", array_v2}, {"b/.zattrs", R"({"unit":"m"})"},
                           {"c/.zarray", array_v2}, {"c/.zattrs", R"({"unit":"s"})"},
                           {"d/.zarray", array_v2}};
  const auto v2 = documents_of(files);
  REQUIRE(v2.size() == 4);
  CHECK(v2[0] == v2[3]);
  CHECK(v2[0] != v2[1]);
  CHECK(v2[1] != v2[2]);
  memory_store store;
  for (const auto& [key, text] : files)
    store.put(store_key::parse(key).value(), as_bytes(text)).value();
  const checkpoint all = open(store).value();
  const auto unit = [&](const char* name) {
    const json attributes = all.as_array(name).value().metadata().attributes;
    const json* const found = attributes.find("unit");
    return found != nullptr ? *found->if_string() : std::string();
  };
  CHECK(unit("a").empty());
  CHECK(unit("c") == "s");
  CHECK(unit("b") == "m");
  CHECK(unit("d").empty());
}

TEST_CASE("groups that hold no array are known, no matter who wrote them") {
  const auto groups = [](const documents& files) { return contents(files).value().groups; };
  const auto told_groups = [](const documents& files) { return believed(files).value().groups; };
  CHECK(groups({{"zarr.json", group_v3},
                {"a/zarr.json", group_v3},
                {"a-b/zarr.json", group_v3},
                {"a/x/zarr.json", array_v3},
                {"c/zarr.json", group_v3},
                {"c/d/zarr.json", group_v3}}) == list{"a-b", "c", "c/d"});
  CHECK(groups({{".zgroup", group_v2}, {"a/.zgroup", group_v2}}) == list{"a"});
  CHECK(told_groups({{"zarr.json", consolidated_v3(R"("g":)" + group_v3 + R"(,"e":)" + group_v3 +
                                                   R"(,"g/w":)" + array_v3)}}) == list{"e"});
  CHECK(told_groups({{".zgroup", group_v2},
                     {".zmetadata",
                      consolidated_v2(R"(".zgroup":)" + group_v2 + R"(,"e/.zgroup":)" + group_v2 +
                                      R"(,"w/.zarray":)" + array_v2)}}) == list{"e"});
  detail::commit_document document{.id = "x", .leaves{}, .groups = {"e", "../e"}};
  json root = parse_json(as_bytes(group_v3)).value();
  root.set("attributes", json::object{{"zarrpoint", commit_node::to_json(document)}});
  const auto hostile = contents({{"zarr.json", dump_json(root)}});
  REQUIRE_FALSE(hostile);
  CHECK(hostile.failure().code == errc::corrupt);
  document.groups.pop_back();
  root.set("attributes", json::object{{"zarrpoint", commit_node::to_json(document)}});
  CHECK(groups({{"zarr.json", dump_json(root)}}) == list{"e"});
}

TEST_CASE("attributes of groups are found, no matter which program wrote them") {
  const auto attributes_in = [](const result<detail::checkpoint_contents>& found) {
    return dump_json(json(found.value().group_attributes));
  };
  const auto attributes = [&](const documents& files) { return attributes_in(contents(files)); };
  const std::string with =
      R"({"zarr_format":3,"node_type":"group","attributes":{"n":1,"zarrpoint":{"id":""}}})";
  const std::string empty = R"({"zarr_format":3,"node_type":"group","attributes":{}})";
  const std::string no_object = R"({"zarr_format":3,"node_type":"group","attributes":[2]})";
  CHECK(attributes({{"zarr.json", group_v3},
                    {"b/zarr.json", with},
                    {"a/zarr.json", empty},
                    {"b/w/zarr.json", array_v3},
                    {"b/c/zarr.json", no_object}}) == R"({"b":{"n":1},"b/c":[2]})");
  CHECK(attributes({{".zgroup", group_v2},
                    {"b/.zgroup", group_v2},
                    {"b/.zattrs", R"({"n":1})"},
                    {"a/.zgroup", group_v2},
                    {"a/.zattrs", "{}"}}) == R"({"b":{"n":1}})");
  CHECK(attributes_in(believed(
            {{"zarr.json", consolidated_v3(R"("g":)" + with + R"(,"e":)" + empty + R"(,"g/w":)" +
                                           array_v3)}})) == R"({"g":{"n":1}})");
  CHECK(attributes_in(believed(
            {{".zgroup", group_v2},
             {".zmetadata",
              consolidated_v2(R"(".zgroup":)" + group_v2 + R"(,".zattrs":{"r":0},"e/.zgroup":)" +
                              group_v2 + R"(,"e/.zattrs":{"n":1})")}})) == R"({"e":{"n":1}})");
  json root = parse_json(as_bytes(group_v3)).value();
  detail::commit_document document{
      .id = "x", .leaves{}, .groups = {"e"}, .group_attributes = {{"e", json::object{{"n", 1}}}}};
  const auto commit = [&](json_style style) {
    root.set("attributes", json::object{{"zarrpoint", commit_node::to_json(document)}});
    return documents{{"zarr.json", dump_json(root, style)}};
  };
  CHECK(attributes(commit(json_style::compact)) == R"({"e":{"n":1}})");
  CHECK(attributes(commit(json_style::pretty)) == R"({"e":{"n":1}})");
  document.group_attributes[0].key = "../e";
  for (const json_style style : {json_style::compact, json_style::pretty}) {
    const auto hostile = contents(commit(style));
    REQUIRE_FALSE(hostile);
    CHECK(hostile.failure().code == errc::corrupt);
  }
}

TEST_CASE("the root may be an array") {
  CHECK(names({{"zarr.json", array_v3}}) == list{""});
  CHECK(names({{".zarray", array_v2}}) == list{""});
}

TEST_CASE("an array that cannot be read does not hide the others") {
  std::string unknown = array_v3;
  unknown.replace(unknown.find("int8"), 4, "int3");
  CHECK(names({{"zarr.json", group_v3}, {"a/zarr.json", unknown}, {"b/zarr.json", array_v3}}) ==
        list{"a", "b"});
}

TEST_CASE("lock files and directories of others are passed over") {
  CHECK(names({{".zgroup", group_v2},
               {"a/.zarray", array_v2},
               {"a.sync/.zarray", ""},
               {"notes/readme", "x"},
               {"file", "x"}}) == list{"a"});
}

TEST_CASE("consolidated documents are believed where listing is not cheap, and nothing is listed") {
  CHECK(names_in(believed({{"zarr.json", consolidated_v3(R"("g":)" + group_v3 + R"(,"g/w":)" +
                                                         array_v3)}})) == list{"g/w"});
  CHECK(names_in(believed({{".zgroup", group_v2},
                           {".zmetadata", consolidated_v2(R"(".zgroup":)" + group_v2 +
                                                          R"(,"w/.zarray":)" + array_v2)}})) ==
        list{"w"});
  CHECK(believed({{"zarr.json", consolidated_v3("")}}).value().is_told);
}

TEST_CASE("where listing is cheap the nodes' own documents count") {
  std::string longer = array_v3;
  longer.replace(longer.find("[2]"), 3, "[9]");
  const documents files = {{"zarr.json", consolidated_v3(R"("a":)" + array_v3 + R"(,"gone":)" +
                                                         array_v3 + R"(,"h/i":)" + array_v3)},
                           {"a/zarr.json", longer},
                           {"b/zarr.json", array_v3},
                           {"e/zarr.json", group_v3},
                           {"h/i/zarr.json", array_v3},
                           {"k/l/zarr.json", array_v3}};
  const auto found = contents(files).value();
  CHECK_FALSE(found.is_told);
  // What was removed is not listed; what was consolidated is found beneath a group without a
  // document.
  CHECK(names_in(found) == list{"a", "b", "h/i"});
  CHECK(found.leaves[0].document->content() == parse_json(as_bytes(longer)).value());
  CHECK(found.groups == list{"e"});
  CHECK(names_in(believed(files)) == list{"a", "gone", "h/i"});
  // The same of v2, where consolidated metadata may be empty.
  const documents of_v2 = {
      {".zgroup", group_v2}, {".zmetadata", consolidated_v2("")}, {"a/.zarray", array_v2}};
  CHECK(names(of_v2) == list{"a"});
  CHECK(contents(of_v2).value().zarr_format == 2);
  // A listing can be asked for.
  zarrpoint_test::counting_store listing(stored(files), true);
  CHECK(names_in(detail::read_contents(listing, {}, true)) == list{"a", "b", "h/i"});
  CHECK(listing->lists != 0);
}

TEST_CASE("faults are named by file") {
  const auto failure = [](const documents& files) {
    const auto found = contents(files);
    REQUIRE_FALSE(found);
    return found.failure();
  };
  CHECK(failure({}).code == errc::not_found);
  CHECK(failure({{"zarr.json", "{"}}).message.find("zarr.json") != std::string::npos);
  CHECK(failure({{"zarr.json", group_v3}, {"a/zarr.json", "[]"}}).code == errc::corrupt);
  CHECK(failure({{"zarr.json",
                  R"({"zarr_format":3,"node_type":"group","attributes":{"zarrpoint":{}}})"}})
            .message.find("commit document") != std::string::npos);
  CHECK(
      failure(
          {{"zarr.json",
            R"({"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{"../x":)" +
                array_v3 + "}}}"}})
          .code == errc::corrupt);
}

TEST_CASE("names that are not keys") {
  const std::string odd = "a\\b";  // a backslash; fine in JSON text and as a name of Zarr v3
  // In a commit document, which `save` alone writes, they tell of damage.
  json commit(json::object{{"format", 1},
                           {"id", "x"},
                           {"created_by", "test"},
                           {"leaves", json::array{json::object{{"name", odd},
                                                               {"typestr", "float32"},
                                                               {"metadata", json::object{}},
                                                               {"objects", json::object{}}}}}});
  std::string seal = detail::commit_seal(commit);
  commit.set("crc32c", std::move(seal));
  json root = parse_json(as_bytes(group_v3), {.max_bytes = 4096}).value();
  root.set("attributes", json::object{{"zarrpoint", std::move(commit)}});
  const auto ours = contents({{"zarr.json", dump_json(root)}});
  REQUIRE_FALSE(ours);
  CAPTURE(ours.failure().message);
  CHECK(ours.failure().code == errc::corrupt);
  CHECK(ours.failure().message.find("backslash") != std::string::npos);
  // Those that others consolidated keep no other array from being opened.
  CHECK(names_in(believed(
            {{".zgroup", group_v2},
             {".zmetadata", consolidated_v2(R"(".zgroup":)" + group_v2 + R"(,"a\\b/.zarray":)" +
                                            array_v2 + R"(,"w/.zarray":)" + array_v2)}})) ==
        list{odd, "w"});
}

TEST_CASE("a hierarchy deeper than any model is refused") {
  documents files{{"zarr.json", group_v3}};
  std::string path;
  for (int depth = 0; depth < 70; ++depth) {
    path += "g/";
    files.emplace_back(path + "zarr.json", group_v3);
  }
  const auto found = contents(files);
  REQUIRE_FALSE(found);
  CHECK(found.failure().code == errc::resource_limit);
}

TEST_CASE("a commit document is found however the file is written, and where it belongs only") {
  detail::commit_document document{.id = "x", .leaves{}};
  for (const char* name : {"b", "a"})
    document.leaves.push_back({name, "array", parse_json(as_bytes(array_v3)).value(), {}});
  json root = parse_json(as_bytes(group_v3)).value();
  root.set("attributes", json::object{{"mine", 1}, {"zarrpoint", commit_node::to_json(document)}});
  const auto opened = [&](json_style style) {
    return contents({{"zarr.json", dump_json(root, style)}}).value();
  };
  for (const json_style style : {json_style::compact, json_style::pretty}) {
    const detail::checkpoint_contents found = opened(style);
    CHECK(found.id == "x");
    CHECK(found.attributes == json(json::object{{"mine", 1}}));
    REQUIRE(found.leaves.size() == 2);
    CHECK(found.leaves[0].name == "a");
    CHECK(found.leaves[0].document->content() == document.leaves[0].metadata);
    // Written by us, leaves share what they have in common.
    CHECK((found.leaves[0].document == found.leaves[1].document) == (style == json_style::compact));
  }
  // A seal that is right for other white space is right; one of other content is not.
  std::string changed = dump_json(root);
  changed.replace(changed.find("int8"), 4, "int9");
  const auto refused = contents({{"zarr.json", changed}});
  REQUIRE_FALSE(refused);
  CHECK(refused.failure().message.find("its checksum does not match") != std::string::npos);
  // In an array it is an attribute like any other.
  json whole = parse_json(as_bytes(array_v3)).value();
  whole.set("attributes", *root.find("attributes"));
  const detail::checkpoint_contents single = contents({{"zarr.json", dump_json(whole)}}).value();
  CHECK_FALSE(single.is_ours());
  REQUIRE(single.leaves.size() == 1);
  CHECK(single.leaves[0].document->content() == whole);
}

}  // namespace contents_test

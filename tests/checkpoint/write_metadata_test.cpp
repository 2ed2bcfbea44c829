// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "../support/commit_node.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace write_metadata_test {

using namespace zarrpoint;

namespace {

std::string text_of(const memory_store& store, std::string_view key) {
  const auto bytes = get(store, store_key::parse(key).value(), 1 << 20).value();
  REQUIRE(bytes.has_value());
  return std::string(as_text(*bytes));
}

/// Without the checksum of the attributes beside it, which it must have.
detail::commit_document unsealed(const json& member) {
  detail::commit_document out = detail::parse_commit_document(member).value();
  CHECK(out.attributes_seal.size() == 8);
  out.attributes_seal.clear();
  return out;
}

detail::commit_document one_leaf() {
  detail::commit_document document{.id = "id", .leaves{}};
  leaf_record leaf;
  leaf.name = "a/w";
  leaf.typestr = "array";
  array_metadata metadata{.shape = {2}, .type = dtype_kind::int8, .chunk_shape = {2}};
  metadata.fill = fill_value::zero(metadata.type);
  metadata.codecs = {{"bytes", json::object{{"endian", "little"}}}};
  leaf.metadata = to_v3(metadata).value();
  document.leaves.push_back(std::move(leaf));
  return document;
}

/// What the root's document of Zarr v3 is, made of nodes.
std::string root_of(detail::commit_document commit, const std::vector<std::string>& groups,
                    const save_options& options) {
  json attributes = options.attributes.is_null() ? json(json::object{}) : options.attributes;
  commit.attributes_seal = detail::commit_seal(attributes);
  attributes.set("zarrpoint", commit_node::to_json(commit));
  group_metadata metadata{.attributes = attributes};
  if (options.consolidated_metadata) {
    std::map<std::pair<std::ptrdiff_t, std::string>, json> sorted;
    const auto add = [&](const std::string& path, const json& document) {
      sorted[{std::count(path.begin(), path.end(), '/'), path}] = document;
    };
    for (const std::string& path : groups) {
      group_metadata group;
      group.consolidated.emplace();
      for (const json::member& one : commit.group_attributes)
        if (one.key == path) group.attributes = one.value;
      add(path, to_v3(group).value());
    }
    for (const leaf_record& leaf : commit.leaves) add(leaf.name, leaf.metadata);
    metadata.consolidated.emplace();
    for (const auto& [place, document] : sorted)
      metadata.consolidated->push_back({place.second, document});
  }
  return dump_json(to_v3(metadata).value(), json_style::compact);
}

}  // namespace

TEST_CASE(
    "the root's document is the text of its nodes, with given documents of leaves and without") {
  detail::commit_document commit = one_leaf();
  for (const char* name : {"b/c/d", "z", "b/a"}) {
    commit.leaves.push_back(commit.leaves[0]);
    commit.leaves.back().name = name;
    commit.leaves.back().metadata.set("attributes", json::object{{"of", name}});
  }
  commit.groups = {"e"};
  commit.group_attributes = {{"b", json::object{{"n", "\"\xc3\xa9"}}}};
  const std::vector<std::string> groups{"a", "b", "b/c", "e"};
  std::vector<std::string> texts;
  for (const leaf_record& leaf : commit.leaves) texts.push_back(dump_json(leaf.metadata));
  const std::vector<std::string_view> documents(texts.begin(), texts.end());
  const detail::commit_document none{.id = "none", .leaves{}};
  for (const bool consolidated : {false, true}) {
    for (const json& attributes : {json(), json(json::object{}), json(json::object{{"a", 1}})}) {
      save_options options{.attributes = attributes};
      options.consolidated_metadata = consolidated;
      const memory_store store;
      detail::put_root_document(store, {commit, groups, options}).value();
      CHECK(text_of(store, "zarr.json") == root_of(commit, groups, options));
      detail::put_root_document(store, {commit, groups, options, SIZE_MAX, documents}).value();
      CHECK(text_of(store, "zarr.json") == root_of(commit, groups, options));
      detail::put_root_document(store, {none, {}, options}).value();
      CHECK(text_of(store, "zarr.json") == root_of(none, {}, options));
    }
  }
}

TEST_CASE("what would read back as something else is not written to the root's document") {
  const auto refusal = [](const detail::commit_document& commit, const json& attributes = {}) {
    const memory_store store;
    const auto refused = detail::put_root_document(store, {commit, {}, {.attributes = attributes}});
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::invalid_argument);
    CHECK(store.list(store_key::root()).value().empty());
    return refused.failure().message;
  };
  const auto nested = [](int levels) {
    json out = 1;
    for (int i = 0; i < levels; ++i) out = json::object{{"in", std::move(out)}};
    return out;
  };
  const auto named = [](std::string name) {
    detail::commit_document commit = one_leaf();
    commit.leaves[0].name = std::move(name);
    return commit;
  };
  CHECK(refusal(named("\xff")).find("not UTF-8") != std::string::npos);
  CHECK_FALSE(refusal(named("../x")).empty());
  detail::commit_document twice = one_leaf();
  twice.leaves.push_back(twice.leaves[0]);
  CHECK(refusal(twice).find("\"a/w\" occurs twice") != std::string::npos);
  // The root's document may have 48 levels: each of these is one too deep.
  CHECK(refusal(one_leaf(), nested(47)).find("nested too deeply") != std::string::npos);
  detail::commit_document deep = one_leaf();
  deep.leaves[0].metadata.set("attributes", nested(42));
  CHECK(refusal(deep).find("\"a/w\": nested too deeply") != std::string::npos);
  deep = one_leaf();
  deep.group_attributes = {{"a", nested(44)}};
  CHECK(refusal(deep).find("\"a\": nested too deeply") != std::string::npos);
  deep.group_attributes = {{"a", nested(43)}};
  deep.leaves[0].metadata.set("attributes", nested(41));
  const memory_store store;
  const save_options options{.attributes = nested(46)};
  detail::put_root_document(store, {deep, {"a"}, options}).value();
  CHECK(text_of(store, "zarr.json") == root_of(deep, {"a"}, options));
  CHECK(parse_json(as_bytes(text_of(store, "zarr.json"))));
}

TEST_CASE("the root's document holds the caller's attributes, ours, and the consolidation") {
  const memory_store store;
  const save_options options{.attributes = json::object{{"author", "me"}}};
  detail::put_root_document(store, {one_leaf(), {"a"}, options}).value();
  const json root = parse_json(as_bytes(text_of(store, "zarr.json"))).value();
  CHECK(*root.find("attributes")->find("author") == json("me"));
  CHECK(unsealed(*root.find("attributes")->find("zarrpoint")) == one_leaf());
  const group_metadata group = parse_group_v3(root).value();
  REQUIRE(group.consolidated.has_value());
  REQUIRE(group.consolidated->size() == 2);
  CHECK(group.consolidated->at(0).key == "a");
  CHECK(group.consolidated->at(1).key == "a/w");
  CHECK(group.consolidated->at(1).value == one_leaf().leaves[0].metadata);
}

TEST_CASE("nothing is consolidated when that is not wanted") {
  const memory_store store;
  detail::put_root_document(store, {one_leaf(), {"a"}, {.consolidated_metadata = false}}).value();
  CHECK(text_of(store, "zarr.json").find("consolidated_metadata") == std::string::npos);
}

TEST_CASE("Zarr v2 has its own files") {
  const memory_store store;
  detail::put_group_documents(store, {"a", "a/b"}, {}, 2).value();
  CHECK(text_of(store, "a/b/.zgroup").find("\"zarr_format\": 2") != std::string::npos);
  detail::commit_document document;
  document.id = "id";
  detail::put_root_document(store, {document, {"a"}, {.zarr_format = 2}}).value();
  CHECK(text_of(store, ".zattrs").find("\"zarrpoint\"") != std::string::npos);
  CHECK(text_of(store, ".zmetadata").find("\"a/.zgroup\"") != std::string::npos);
  // The root's tells that there is a commit document, those below tell nothing.
  CHECK(parse_json(as_bytes(text_of(store, ".zgroup"))).value() ==
        json(json::object{{"zarr_format", 2}, {"zarrpoint", "id"}}));
  CHECK(text_of(store, "a/b/.zgroup").find("zarrpoint") == std::string::npos);
}

TEST_CASE("attributes of leaves and groups are in the document of each, and consolidated") {
  const json of_group = json::object{{"layer", 0}};
  const json of_leaf = json::object{{"unit", "m"}};
  const std::vector<std::string> groups{"a", "b"};
  detail::commit_document commit = one_leaf();
  commit.group_attributes = {{"a", of_group}};
  SUBCASE("v3") {
    commit.leaves[0].metadata.set("attributes", of_leaf);
    const memory_store store;
    const auto parsed = [&](const char* key) {
      return parse_json(as_bytes(text_of(store, key))).value();
    };
    detail::put_group_documents(store, groups, commit.group_attributes, 3).value();
    CHECK(*parsed("a/zarr.json").find("attributes") == of_group);
    CHECK(parsed("b/zarr.json").find("attributes") == nullptr);
    const store_key key = store_key::parse("a/w").value();
    detail::put_array_document(store, key, commit.leaves[0], 3).value();
    CHECK(parsed("a/w/zarr.json") == commit.leaves[0].metadata);
    detail::put_root_document(store, {commit, groups, {}}).value();
    const json root = parsed("zarr.json");
    const group_metadata group = parse_group_v3(root).value();
    REQUIRE(group.consolidated.value().size() == 3);
    CHECK(*group.consolidated->at(0).value.find("attributes") == of_group);
    CHECK(group.consolidated->at(1).value.find("attributes") == nullptr);
    CHECK(*group.consolidated->at(2).value.find("attributes") == of_leaf);
    CHECK(unsealed(*root.find("attributes")->find("zarrpoint")) == commit);
  }
  SUBCASE("v2") {
    commit.leaves[0].metadata = json::object{{"zarr_format", 2}};
    commit.leaves[0].attributes = of_leaf;
    const memory_store store;
    const store_key key = store_key::parse("a/w").value();
    detail::put_group_documents(store, groups, commit.group_attributes, 2).value();
    detail::put_array_document(store, key, commit.leaves[0], 2).value();
    detail::put_root_document(store, {commit, groups, {.zarr_format = 2}}).value();
    const auto there = [&](const char* file) {
      return get(store, store_key::parse(file).value(), 1 << 20).value().has_value();
    };
    CHECK(parse_json(as_bytes(text_of(store, "a/.zattrs"))).value() == of_group);
    CHECK(parse_json(as_bytes(text_of(store, "a/w/.zattrs"))).value() == of_leaf);
    CHECK_FALSE(there("b/.zattrs"));
    const json all = parse_json(as_bytes(text_of(store, ".zmetadata"))).value();
    const json& nodes = *all.find("metadata");
    CHECK(*nodes.find("a/.zattrs") == of_group);
    CHECK(*nodes.find("a/w/.zattrs") == of_leaf);
    CHECK(nodes.find("b/.zattrs") == nullptr);
    const json root = parse_json(as_bytes(text_of(store, ".zattrs"))).value();
    CHECK(unsealed(*root.find("zarrpoint")) == commit);
    for (int i = 0; i < 2; ++i) {
      detail::erase_v2_attributes(store, "a/w").value();
      CHECK_FALSE(there("a/w/.zattrs"));
    }
  }
}

TEST_CASE("attributes of a name are checked before anything is written") {
  const auto sorted = [](json::object of) {
    return detail::sorted_attributes_of({.attributes_of = std::move(of)});
  };
  const auto refusal = [&](json::object of) {
    const auto refused = sorted(std::move(of));
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::invalid_argument);
    CHECK(refused.failure().message.find("attributes_of \"w\"") != std::string::npos);
    return refused.failure().message;
  };
  const auto nested = [](int levels) {
    json out = 1;
    for (int i = 0; i < levels; ++i) out = json::object{{"in", std::move(out)}};
    return out;
  };
  const json::object good{{"w", json::object{{"a", 1}}}, {"b", json()}, {"c", json::object{}}};
  const json::object out = sorted(good).value();
  REQUIRE(out.size() == 3);
  CHECK(out[0] == json::member{"b", json()});
  CHECK(out[1] == json::member{"c", json()});
  CHECK(out[2] == good[0]);
  CHECK(sorted({{"w", nested(39)}}));
  CHECK(refusal({{"w", nested(40)}}).find("nested too deeply") != std::string::npos);
  CHECK(refusal({{"w", 3}}).find("must be an object") != std::string::npos);
  CHECK(refusal({{"w", json::array{}}}).find("must be an object") != std::string::npos);
  CHECK(refusal({{"w", json::object{{"a", "\xff"}}}}).find("not UTF-8") != std::string::npos);
  CHECK(refusal({{"w", json::object{{"a", 1}, {"a", 2}}}}).find("twice") != std::string::npos);
  CHECK(refusal({{"w", json()}, {"w", json()}}).find("is given twice") != std::string::npos);

  const std::vector<std::string_view> leaves{"g/w"};
  const auto of_groups = [&](json::object of) {
    return detail::attributes_of_groups(of, {"g", "h"}, leaves);
  };
  const json one = json::object{{"a", 1}};
  CHECK(of_groups({{"g", one}, {"g/w", one}, {"h", json()}}).value() == json::object{{"g", one}});
  // An array may have any attribute; a group with ours would be taken for a checkpoint.
  const json ours = json::object{{"zarrpoint", 1}};
  CHECK(of_groups({{"g/w", ours}}).value().empty());
  for (const auto& [name, what, why] :
       {std::tuple{"g", ours, "the member \"zarrpoint\" is reserved"},
        std::tuple{"x", one, "no leaf or group"}, std::tuple{"g/", one, "no leaf or group"},
        std::tuple{"", one, "save_options::attributes"}}) {
    const auto refused = of_groups({{name, what}});
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::invalid_argument);
    CHECK(refused.failure().message.find(std::string("attributes_of \"") + name) !=
          std::string::npos);
    CHECK(refused.failure().message.find(why) != std::string::npos);
  }
}

TEST_CASE("more values than a document may have are not written") {
  // A value takes two bytes here, and a reader allows one for twelve.
  detail::commit_document commit = one_leaf();
  commit.leaves[0].metadata.set("attributes", json::object{{"a", json::array(20'000, json(1))}});
  for (const int format : {2, 3}) {
    const save_options options{.zarr_format = format};
    const memory_store store;
    CHECK(detail::put_root_document(store, {commit, {"a"}, options, 600'000}).value());
    CHECK_FALSE(detail::put_root_document(store, {commit, {"a"}, options, 300'000}).value() ==
                (format == 3));
    const auto refused = detail::put_root_document(store, {commit, {"a"}, options, 100'000});
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::resource_limit);
    CHECK(refused.failure().message.find(" values; limits::metadata_bytes allows ") !=
          std::string::npos);
  }
}

TEST_CASE("erasing the root's document leaves a hierarchy that is none") {
  const memory_store store;
  detail::put_root_document(store, {one_leaf(), {"a"}, {}}).value();
  detail::erase_root_document(store).value();
  CHECK(store.list(store_key::root()).value().empty());
}

TEST_CASE("our member of the attributes is reserved") {
  CHECK(detail::check_attributes(json()));
  CHECK(detail::check_attributes(json::object{{"a", 1}}));
  CHECK_FALSE(detail::check_attributes(json(1)));
  CHECK_FALSE(detail::check_attributes(json::object{{"zarrpoint", 1}}));
  CHECK_FALSE(detail::check_attributes(json::object{{"a", 1}, {"a", 2}}));
  CHECK_FALSE(detail::check_attributes(json::object{{"a", "\xff"}}));
}

TEST_CASE(
    "a document that would not be read back is not written, or without what it consolidates") {
  const std::vector<std::string> groups{"a", "b", "c", "d", "e"};
  for (const int format : {2, 3}) {
    const detail::commit_document commit = one_leaf();
    const save_options options{.zarr_format = format};
    const memory_store whole;
    CHECK(detail::put_root_document(whole, {commit, groups, options}).value());
    const std::string name = format == 2 ? ".zattrs" : "zarr.json";
    const std::size_t size =
        format == 2 ? text_of(whole, ".zmetadata").size() : text_of(whole, "zarr.json").size();
    const memory_store shorter;
    CHECK_FALSE(detail::put_root_document(shorter, {commit, groups, options, size - 1}).value());
    CHECK(text_of(shorter, name).find("\"zarrpoint\"") != std::string::npos);
    CHECK(text_of(shorter, name).find("consolidated") == std::string::npos);
    const memory_store none;
    const auto refused = detail::put_root_document(none, {commit, groups, options, 100});
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::resource_limit);
    CHECK(refused.failure().message.find("1 leaves takes") != std::string::npos);
  }
}

}  // namespace write_metadata_test

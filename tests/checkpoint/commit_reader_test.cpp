// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/document/commit_reader.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "../support/commit_node.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace commit_reader_test {

using namespace zarrpoint;

namespace {

leaf_record leaf_of(std::string name, std::int64_t rows) {
  leaf_record leaf{.name = std::move(name),
                   .typestr = "array",
                   .metadata = json::object{{"zarr_format", 3}, {"shape", json::array{rows}}},
                   .objects{}};
  leaf.objects.set("c/0", {.size = 4228, .crc32c = {0xdeadbeefU, std::nullopt, 0U}});
  leaf.objects.set("c/1", {});
  return leaf;
}

detail::commit_document example() {
  return {.id = "0123",
          .leaves = {leaf_of("a", 2), leaf_of("b\n\"\xc3\xa9", 3), leaf_of("c", 2)},
          .groups = {"d", "e/f"},
          .group_attributes = {}};
}

/// The same with attributes of one leaf, as v2 has them, and of groups.
detail::commit_document with_attributes() {
  detail::commit_document out = example();
  out.leaves[1].attributes = json::object{{"unit", "m\n"}, {"range", json::array{0.5, 1e300}}};
  out.group_attributes = {{"d", json::object{{"n", 1}}}, {"e", json::object{{"\xc3\xa9", json()}}}};
  return out;
}

/// A root document of format 3 around the text of a commit document.
std::string root_of(const std::string& commit) {
  return R"({"zarr_format":3,"node_type":"group","attributes":{"mine":[1],"zarrpoint":)" + commit +
         "}}";
}

struct read_document {
  detail::commit_reader commit{3};
  json root;
  bool all = false;

  explicit read_document(const std::string& text, const json_limits& limits = {}) {
    all = detail::json_reader(text, limits, &commit).read(root);
  }
};

std::string text_of(const detail::commit_document& document) {
  return dump_json(commit_node::to_json(document));
}

}  // namespace

TEST_CASE("what is saved is read as the other way reads it") {
  const detail::commit_document wanted = example();
  const read_document read(root_of(text_of(wanted)));
  REQUIRE(read.all);
  REQUIRE(read.commit.found());
  CHECK(read.commit.id == wanted.id);
  CHECK(read.commit.groups == wanted.groups);
  REQUIRE(read.commit.leaves.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const detail::stored_leaf& leaf = read.commit.leaves[i];
    CHECK(leaf_record{leaf.name, leaf.typestr, leaf.document->content(), leaf.objects} ==
          wanted.leaves[i]);
    CHECK(leaf.zarr_format == 3);
  }
  CHECK(dump_json(read.root) ==
        R"({"zarr_format":3,"node_type":"group","attributes":{"mine":[1],"zarrpoint":null}})");
  // Leaves with the same document share it.
  CHECK(read.commit.leaves[0].document == read.commit.leaves[2].document);
  CHECK(read.commit.leaves[0].document != read.commit.leaves[1].document);
  CHECK(read_document(root_of(text_of({.id = "x", .leaves{}}))).commit.found());
}

TEST_CASE("what consolidated metadata repeat is passed over, and nothing else") {
  const detail::commit_document wanted = example();
  const std::string known = dump_json(wanted.leaves[0].metadata);
  const std::string other = R"({"zarr_format":3,"shape":[4]})";
  std::string text = root_of(text_of(wanted));
  text.resize(text.size() - 2);  // those of the attributes and of the root
  text += R"(,"after":)" + known + R"(},"consolidated_metadata":{"metadata":{"a":)" + known +
          R"(,"x":)" + other + R"(,"y":)" + known + "}}}";
  const read_document read(text);
  REQUIRE(read.commit.found());
  CHECK(read.commit.leaves.size() == 3);
  CHECK(
      dump_json(read.root) ==
      R"({"zarr_format":3,"node_type":"group","attributes":{"mine":[1],"zarrpoint":null,"after":)" +
          known + R"(},"consolidated_metadata":{"metadata":{"a":{},"x":)" + other +
          R"(,"y":{}}}})");
  json_limits limits;
  json whole;
  limits.max_nodes = 1;
  while (!detail::json_reader(text, limits).read(whole)) ++limits.max_nodes;
  CHECK(read_document(text, limits).commit.found());
  --limits.max_nodes;
  CHECK_FALSE(read_document(text, limits).all);
  for (const char* const wrong : {"]", "x", "{"})
    CHECK_FALSE(read_document(text.substr(0, text.size() - 3) + wrong).all);
}

TEST_CASE("beyond the documents that are looked for, each has its own") {
  detail::commit_document many{.id = "x", .leaves{}};
  for (int i = 0; i < 100; ++i) many.leaves.push_back(leaf_of(std::to_string(i), i % 50));
  const read_document read(root_of(text_of(many)));
  REQUIRE(read.commit.found());
  for (std::size_t i = 0; i < 50; ++i) {
    const auto& first = read.commit.leaves[i].document;
    const auto& second = read.commit.leaves[i + 50].document;
    CHECK((first == second) == (i < 32));
    CHECK(first->content() == second->content());
  }
}

TEST_CASE("nothing is left of the document before, whole or not") {
  detail::commit_document first = with_attributes();
  first.attributes_seal = "01234567";
  for (int i = 0; i < 40; ++i) {
    first.leaves.push_back(leaf_of(std::to_string(i), 10 + i));
    first.leaves.back().metadata.set("attributes", json::object{{"i", i}});
    first.leaves.push_back(leaf_of("p" + std::to_string(i), 10 + i));
  }
  detail::commit_document second = example();
  second.leaves[0].metadata.set("attributes", json::object{{"i", 0}});
  second.leaves[2].metadata.set("attributes", json::object{{"i", 0}});
  const std::string whole = root_of(text_of(first));
  std::string broken = whole;
  broken.replace(broken.rfind(R"("objects")"), 9, R"("objectz")");
  for (const std::string& before : {whole, broken}) {
    detail::commit_reader commit(3);
    json root;
    detail::json_reader(before, {}, &commit).read(root);
    CHECK(commit.found() == (before == whole));
    const std::string text = root_of(text_of(second));
    REQUIRE(detail::json_reader(text, {}, &commit).read(root));
    REQUIRE(commit.found());
    CHECK(commit.id == second.id);
    CHECK(commit.groups == second.groups);
    CHECK(commit.group_attributes.empty());
    CHECK(commit.attributes_seal.empty());
    REQUIRE(commit.leaves.size() == 3);
    CHECK(commit.leaves[0].name == "a");
    CHECK(commit.leaves[0].document == commit.leaves[2].document);
  }
}

TEST_CASE("attributes are read, too, and leaves without some share what they shared") {
  const detail::commit_document wanted = with_attributes();
  const read_document read(root_of(text_of(wanted)));
  REQUIRE(read.commit.found());
  CHECK(read.commit.groups == wanted.groups);
  CHECK(read.commit.group_attributes == wanted.group_attributes);
  CHECK(read.commit.leaves[0].attributes.is_null());
  CHECK(read.commit.leaves[1].attributes == wanted.leaves[1].attributes);
  CHECK(read.commit.leaves[0].document == read.commit.leaves[2].document);
}

TEST_CASE("documents with attributes do not keep others from being shared") {
  detail::commit_document many{.id = "x", .leaves{}};
  for (int i = 0; i < 100; ++i) {
    many.leaves.push_back(leaf_of(std::to_string(i), 2));
    many.leaves.back().metadata.set("attributes", json::object{{"i", i % 50}});
  }
  for (int i = 0; i < 40; ++i) many.leaves.push_back(leaf_of("p" + std::to_string(i), i % 20));
  const read_document read(root_of(text_of(many)));
  REQUIRE(read.commit.found());
  const auto& leaves = read.commit.leaves;
  for (std::size_t i = 0; i < 50; ++i) {
    // The same text is shared, attributes and all, as long as it is looked for.
    CHECK((leaves[i].document == leaves[i + 50].document) == (i < 8));
    CHECK(*leaves[i + 50].document->content().find("attributes")->find("i") ==
          json(static_cast<int>(i)));
  }
  for (std::size_t i = 100; i < 120; ++i) CHECK(leaves[i].document == leaves[i + 20].document);
}

TEST_CASE("in format 2 it is a member of the attributes themselves") {
  const std::string text = R"({"zarrpoint":)" + text_of(example()) + "}";
  detail::commit_reader commit(2);
  json root;
  CHECK(detail::json_reader(text, {}, &commit).read(root));
  REQUIRE(commit.found());
  CHECK(commit.leaves[1].zarr_format == 2);
}

TEST_CASE("whatever is changed is not taken") {
  const std::string text = text_of(with_attributes());
  for (std::size_t i = 0; i < text.size(); ++i) {
    CHECK_FALSE(read_document(root_of(text.substr(0, i))).all);
    for (const char other : {'0', '7', 'x', '"', ' ', ',', '}'}) {
      if (text[i] == other) continue;
      std::string changed = text;
      changed[i] = other;
      CAPTURE(changed);
      CHECK_FALSE(read_document(root_of(changed)).commit.found());
    }
  }
}

TEST_CASE("what is sealed and yet not what is written is not taken") {
  const auto sealed = [](std::string unsealed) {
    std::string seal;
    detail::append_hex(seal, crc32c(as_bytes(unsealed + "}")));
    return unsealed + R"(,"crc32c":")" + seal + "\"}";
  };
  const std::string before = R"({"format":1,"writer":"w","id":"i","leaves":[)";
  const std::string leaf = R"({"name":"a","typestr":"t","metadata":)";
  const auto found = [&](const std::string& leaves) {
    return read_document(root_of(sealed(before + leaves + "]"))).commit.found();
  };
  CHECK(found(leaf + R"({},"objects":{}})"));
  CHECK(found(leaf + R"({},"attributes":{"a":[1,{}]},"objects":{}})"));
  CHECK(found(leaf + R"({},"objects":{"c":{"size":3,"crc32c":"0123abcd--------"}}})"));
  for (const char* rest :
       {R"(3,"objects":{}})", R"({},"objects":{"c":{"size":3,"crc32c":"0123"}}})",
        R"({},"objects":{"c":{"size":3,"crc32c":"0123456x"}}})",
        R"({},"objects":{"c":{"size":-3,"crc32c":""}}})", R"({},"objects":{"c"})",
        R"({},"objects":{"c":{"size":03,"crc32c":""}}})",
        R"({},"objects":{"c":{"size":1,"crc32c":""},"c":{"size":1,"crc32c":""}}})",
        R"({"a":1,"a":1},"objects":{}})", R"({},"objects":[]})", R"({},"objects":{},"x":1})",
        R"({},"attributes":3,"objects":{}})", R"({},"attributes":{ },"objects":{}})",
        R"({},"attributes":{"a":1.0e0},"objects":{}})", R"({},"objects":{},"attributes":{}})",
        R"({},"attributes":{},"attributes":{},"objects":{}})", R"({},"objects":{}},)",
        R"({} ,"objects":{}})", R"({ },"objects":{}})",
        R"({},"objects":{"c\/0":{"size":3,"crc32c":""}}})"}) {
    CAPTURE(rest);
    CHECK_FALSE(found(leaf + rest));
  }
  const auto found_groups = [&](const std::string& groups) {
    return read_document(root_of(sealed(before + R"(],"groups":)" + groups))).commit.found();
  };
  CHECK(found_groups(R"(["a"])"));
  for (const char* groups : {R"([)", R"(["a",)", R"([])", R"([3])", R"(["a",])", R"("a")",
                             R"([ "a"])", R"(["a"],"groups":["b"])"}) {
    CAPTURE(groups);
    CHECK_FALSE(found_groups(groups));
  }
  const auto found_attributes = [&](const std::string& attributes) {
    return read_document(root_of(sealed(before + R"(],"group_attributes":)" + attributes)))
        .commit.found();
  };
  CHECK(found_attributes(R"({"a":{"b":1}})"));
  const read_document unsorted(
      root_of(sealed(before + R"(],"group_attributes":{"b":{},"a":{"n":1}})")));
  REQUIRE(unsorted.commit.group_attributes.size() == 2);
  CHECK(unsorted.commit.group_attributes[0].key == "a");  // where it is looked for
  for (const char* attributes : {R"([])", R"({"a":1})", R"({"a":{},"a":{}})", R"({"a": {}})",
                                 R"({},"groups":["b"])", R"({"a":null})"}) {
    CAPTURE(attributes);
    CHECK_FALSE(found_attributes(attributes));
  }
  CHECK_FALSE(read_document(root_of(sealed(R"({"format":2,"writer":"w","id":"i","leaves":[])")))
                  .commit.found());
}

TEST_CASE("it counts as many values and levels as the parser") {
  detail::commit_document document = with_attributes();
  document.attributes_seal = "01234567";
  std::string text = root_of(text_of(document));
  // What follows lies deeper than the commit document, and counts from where that was.
  text.insert(text.size() - 2, R"(,"after":[[[[[[[[[]]]]]]]]])");
  json_limits limits;
  json whole;
  // Root: 3 members and what lies in them; the seal is a value, too.
  limits.max_nodes = 1;
  while (!detail::json_reader(text, limits).read(whole)) ++limits.max_nodes;
  CHECK(read_document(text, limits).commit.found());
  --limits.max_nodes;
  CHECK_FALSE(read_document(text, limits).all);
  limits = {};
  limits.max_depth = 1;
  while (!detail::json_reader(text, limits).read(whole)) ++limits.max_depth;
  CHECK(read_document(text, limits).all);
  --limits.max_depth;
  CHECK_FALSE(read_document(text, limits).all);
}

}  // namespace commit_reader_test

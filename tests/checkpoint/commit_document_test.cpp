// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "../support/commit_node.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace commit_document_test {

using namespace zarrpoint;

namespace {

detail::commit_document example() {
  detail::commit_document document{.id = "00112233445566778899aabbccddeeff", .leaves{}};
  leaf_record leaf{.name = "layers/0/w",
                   .typestr = "array",
                   .metadata = json::object{{"zarr_format", 3}},
                   .objects{}};
  leaf.objects.set("c/0/0", {.size = 4228, .crc32c = {0xdeadbeefU, std::nullopt, 0U, 0xffffffffU}});
  leaf.objects.set("c/0/1", {});
  document.leaves.push_back(std::move(leaf));
  return document;
}

}  // namespace

TEST_CASE("a commit document reads back as it was written") {
  const detail::commit_document document = example();
  const json written = commit_node::to_json(document);
  CHECK(detail::parse_commit_document(written).value() == document);
  const auto again = parse_json(as_bytes(dump_json(written, json_style::pretty))).value();
  CHECK(detail::parse_commit_document(again).value() == document);
}

TEST_CASE("its text is stable") {
  CHECK(
      commit_node::written(example()) ==
      R"({"format":1,"writer":"zarrpoint 0.2.0","id":"00112233445566778899aabbccddeeff","leaves":[{"name":"layers/0/w","typestr":"array","metadata":{"zarr_format":3},"objects":{"c/0/0":{"size":4228,"crc32c":"deadbeef--------00000000ffffffff"},"c/0/1":{"size":0,"crc32c":""}}}],"crc32c":"642b27ba"})");
}

TEST_CASE("groups that hold no leaf are named after the leaves") {
  const detail::commit_document document{.id = "i", .leaves{}, .groups = {"a/b", "c"}};
  const json written = commit_node::to_json(document);
  CHECK(detail::parse_commit_document(written).value() == document);
  CHECK(dump_json(written, json_style::compact)
            .find(R"("leaves":[],"groups":["a/b","c"],"crc32c":)") != std::string::npos);
}

TEST_CASE("attributes of v2 leaves and of groups are part of it") {
  detail::commit_document document = example();
  document.leaves[0].attributes = json::object{{"unit", "m"}};
  document.group_attributes = {{"layers", json::object{{"n", 1}}}, {"layers/0", json::object{}}};
  json written = commit_node::to_json(document);
  CHECK(detail::parse_commit_document(written).value() == document);
  const std::string text = dump_json(written, json_style::compact);
  CHECK(text.find(R"("metadata":{"zarr_format":3},"attributes":{"unit":"m"},"objects":)") !=
        std::string::npos);
  CHECK(text.find(R"(}],"group_attributes":{"layers":{"n":1},"layers/0":{}},"crc32c":)") !=
        std::string::npos);
  for (const auto& [from, to] : {std::pair{"\"m\"", "\"s\""}, std::pair{"\"n\"", "\"o\""}}) {
    std::string changed = text;
    changed.replace(changed.find(from), 3, to);
    CHECK_FALSE(detail::parse_commit_document(parse_json(as_bytes(changed)).value()));
  }
}

TEST_CASE("its text is that of the members one by one, also behind other text") {
  std::vector<detail::commit_document> all{{}, example()};
  detail::commit_document full = example();
  full.id = "a \"quoted\" id";
  full.groups = {"a", "b/\xc3\xa9"};
  full.group_attributes = {{"g", json::object{{"n", 0.1}}}};
  full.attributes_seal = "01234567";
  full.leaves[0].attributes = json::object{{"unit", "m\n"}};
  full.leaves.push_back({.name = "b\\c", .typestr = "", .metadata = json::object{}, .objects{}});
  all.push_back(full);
  for (const detail::commit_document& document : all)
    CHECK(commit_node::written(document) ==
          dump_json(commit_node::to_json(document), json_style::compact));
  std::string text = "{";
  const std::vector<std::string_view> documents{R"({"zarr_format":3})", "{}"};
  detail::append_commit(text, full, full.attributes_seal, documents);
  CHECK(text == '{' + commit_node::written(full));
}

TEST_CASE("any change breaks the seal") {
  const json written = commit_node::to_json(example());
  const std::string text = dump_json(written, json_style::compact);
  std::size_t refused = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char other : {'0', '7', 'x', '"', ' '}) {
      if (text[i] == other) continue;
      std::string changed = text;
      changed[i] = other;
      const auto parsed = parse_json(as_bytes(changed));
      if (!parsed) continue;
      if (*parsed == written) continue;
      CAPTURE(changed);
      CHECK_FALSE(detail::parse_commit_document(*parsed));
      ++refused;
    }
  }
  CHECK(refused > 500);
}

TEST_CASE("what is not a commit document is refused with the reason") {
  const auto refusal = [](json document, bool sealed = true) {
    if (sealed && document.if_object() != nullptr) {
      std::erase_if(*document.if_object(), [](const json::member& m) { return m.key == "crc32c"; });
      document.set("crc32c", detail::commit_seal(document));
    }
    const auto parsed = detail::parse_commit_document(document);
    REQUIRE_FALSE(parsed);
    return parsed.failure();
  };
  CHECK(refusal(json(3)).message.find("not an object") != std::string::npos);
  CHECK(refusal(json::object{}).message.find("\"format\" is missing") != std::string::npos);
  const error later = refusal(json::object{{"format", 2}});
  CHECK(later.code == errc::unsupported);
  CHECK(later.message.find("format 2") != std::string::npos);
  json document = commit_node::to_json(example());
  const auto with_leaf = [&](const char* key, json value) {
    json changed = document;
    changed.find("leaves")->if_array()->front().set(key, std::move(value));
    return refusal(std::move(changed)).message;
  };
  CHECK(with_leaf("name", 3).find("\"name\" is missing or is not a string") != std::string::npos);
  CHECK(with_leaf("metadata", 3).find("has no metadata") != std::string::npos);
  CHECK(with_leaf("attributes", 3).find("attributes of leaf \"layers/0/w\"") != std::string::npos);
  CHECK(with_leaf("objects", 3).find("has no list of objects") != std::string::npos);
  CHECK(with_leaf("objects", json::object{{"c", 3}}).find("has no size") != std::string::npos);
  CHECK(with_leaf("objects", json::object{{"c", json::object{{"size", 3}, {"crc32c", "123"}}}})
            .find("list of checksums that is cut short") != std::string::npos);
  CHECK(with_leaf("objects", json::object{{"c", json::object{{"size", 3}, {"crc32c", "1234567x"}}}})
            .find("not hexadecimal") != std::string::npos);
  document.set("groups", 3);
  CHECK(refusal(document).message.find("the list of groups is missing") != std::string::npos);
  document.set("groups", json::array{json(3)});
  CHECK(refusal(document).message.find("a group has no name") != std::string::npos);
  document.set("group_attributes", 3);
  CHECK(refusal(document).message.find("\"group_attributes\" is not an object") !=
        std::string::npos);
  document.set("group_attributes", json::object{{"g", json::array{}}});
  CHECK(refusal(document).message.find("attributes of group \"g\"") != std::string::npos);
  document.set("leaves", 3);
  CHECK(refusal(document).message.find("the list of leaves is missing") != std::string::npos);
}

}  // namespace commit_document_test

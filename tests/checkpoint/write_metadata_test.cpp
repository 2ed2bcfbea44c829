// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <doctest/doctest.h>

namespace write_metadata_test {

using namespace zarrpoint;

namespace {

std::string text_of(const memory_store& store, std::string_view key) {
  const auto bytes = get(store, store_key::parse(key).value(), 1 << 20).value();
  REQUIRE(bytes.has_value());
  return std::string(as_text(*bytes));
}

commit_document one_leaf() {
  commit_document document{.id = "id", .leaves{}};
  leaf_record leaf;
  leaf.name = "a/w";
  leaf.typestr = "array";
  array_metadata metadata{.shape = {2}, .type = dtype_kind::int8, .chunk_shape = {2}};
  metadata.fill = fill_value::zero(metadata.type);
  metadata.codecs = {{"bytes", node::object{{"endian", "little"}}}};
  leaf.metadata = to_v3(metadata).value();
  document.leaves.push_back(std::move(leaf));
  return document;
}

}  // namespace

TEST_CASE("the root's document holds the caller's attributes, ours, and the consolidation") {
  const memory_store store;
  const save_options options{.attributes = node::object{{"author", "me"}}};
  detail::put_root_document(store, {one_leaf(), {"a"}, options}).value();
  const node root = parse_json(as_bytes(text_of(store, "zarr.json"))).value();
  CHECK(*root.find("attributes")->find("author") == node("me"));
  CHECK(parse_commit_document(*root.find("attributes")->find("zarrpoint")).value() == one_leaf());
  const group_metadata group = parse_group_v3(root).value();
  REQUIRE(group.consolidated.has_value());
  REQUIRE(group.consolidated->size() == 2);
  CHECK(group.consolidated->at(0).first == "a");
  CHECK(group.consolidated->at(1).first == "a/w");
  CHECK(group.consolidated->at(1).second == one_leaf().leaves[0].metadata);
}

TEST_CASE("nothing is consolidated when that is not wanted") {
  const memory_store store;
  detail::put_root_document(store, {one_leaf(), {"a"}, {.consolidated_metadata = false}}).value();
  CHECK(text_of(store, "zarr.json").find("consolidated_metadata") == std::string::npos);
}

TEST_CASE("Zarr v2 has its own files") {
  const memory_store store;
  detail::put_group_documents(store, {"a", "a/b"}, 2).value();
  CHECK(text_of(store, "a/b/.zgroup").find("\"zarr_format\": 2") != std::string::npos);
  commit_document document;
  document.id = "id";
  detail::put_root_document(store, {document, {"a"}, {.zarr_format = 2}}).value();
  CHECK(text_of(store, ".zattrs").find("\"zarrpoint\"") != std::string::npos);
  CHECK(text_of(store, ".zmetadata").find("\"a/.zgroup\"") != std::string::npos);
  CHECK(text_of(store, ".zgroup").find("2") != std::string::npos);
}

TEST_CASE("erasing the root's document leaves a hierarchy that is none") {
  const memory_store store;
  detail::put_root_document(store, {one_leaf(), {"a"}, {}}).value();
  detail::erase_root_document(store).value();
  CHECK(store.list(store_key::root()).value().empty());
}

TEST_CASE("our member of the attributes is reserved") {
  CHECK(detail::check_attributes(node()));
  CHECK(detail::check_attributes(node::object{{"a", 1}}));
  CHECK_FALSE(detail::check_attributes(node(1)));
  CHECK_FALSE(detail::check_attributes(node::object{{"zarrpoint", 1}}));
  CHECK_FALSE(detail::check_attributes(node::object{{"a", 1}, {"a", 2}}));
  CHECK_FALSE(detail::check_attributes(node::object{{"a", "\xff"}}));
}

TEST_CASE(
    "a document that would not be read back is not written, or without what it consolidates") {
  const std::set<std::string> groups{"a", "b", "c", "d", "e"};
  for (const int format : {2, 3}) {
    const commit_document commit = one_leaf();
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

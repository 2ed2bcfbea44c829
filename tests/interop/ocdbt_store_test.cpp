// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_files.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_tree.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/ocdbt_bytes.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ocdbt_store_test {

using namespace zarrpoint;

const std::string golden = std::string(ZARRPOINT_TEST_GOLDEN) + "/";

store_key key(std::string_view text) { return store_key::parse(text).value(); }

result<ocdbt_store> opened(const std::string& folder, const ocdbt_options& how = {}) {
  return ocdbt_store::open(file_store::open(folder, {.read_only = true}).value(), store_key::root(),
                           how);
}

std::string text_at(const any_store& store, std::string_view name) {
  const auto bytes = get(store, key(name), 1 << 20).value();
  return bytes ? std::string(as_text(*bytes)) : "(none)";
}

/// All keys beneath `at`, and their values.
std::map<std::string, std::string> contents_of(const any_store& store, std::string_view at = {}) {
  std::map<std::string, std::string> out;
  for (const list_entry& entry : store.list(key(at)).value()) {
    const std::string name = at.empty() ? entry.name : std::string(at) + '/' + entry.name;
    if (store.open(key(name)).value() != nullptr) out[name] = text_at(store, name);
    if (entry.is_prefix) out.merge(contents_of(store, name));
  }
  return out;
}

/// A database in memory whose manifest and data file are these.
memory_store database(const std::vector<std::byte>& manifest, const std::vector<std::byte>& data) {
  memory_store out;
  out.put(key("db/manifest.ocdbt"), manifest).value();
  out.put(key("db/d/0"), data).value();
  return out;
}

/// One whose root is a leaf.
memory_store with_leaf(const std::vector<std::byte>& leaf) {
  return database(test::ocdbt_manifest("d/0", 0, leaf.size(), 0), leaf);
}

error failure_of(const memory_store& base, std::string_view name = {},
                 const ocdbt_options& how = {}) {
  const auto store = ocdbt_store::open(base, key("db"), how);
  if (!store) return store.failure();
  const auto object = store->open(key(name));
  REQUIRE(!object);
  return object.failure();
}

bool contains(const error& failure, std::string_view text) {
  INFO(to_string(failure));
  return failure.message.find(text) != std::string::npos;
}

TEST_CASE("ocdbt_store: a tree of height 3, with values within nodes and outside") {
  const auto store = opened(golden + "ocdbt/files_min_arity.ocdbt").value();
  const auto found = contents_of(store);
  CHECK(found.size() == 8);
  CHECK(store.version().keys == 8);
  const auto versions = store.versions().value();
  REQUIRE(!versions.empty());
  CHECK(versions.back() == store.version());
  for (const auto& [name, text] : found) {
    const auto object = store.open(key(name)).value();
    REQUIRE(object != nullptr);
    CHECK(object->size() == text.size());
    std::string part(text.size() / 2, ' ');
    CHECK(object->read(text.size() - part.size(), std::as_writable_bytes(std::span(part))));
    CHECK(part == text.substr(text.size() - part.size()));
    CHECK(object->read(1, std::as_writable_bytes(std::span(part.data(), 0))).has_value() ==
          (!text.empty()));
    std::string longer(text.size() + 1, ' ');
    CHECK(object->read(0, std::as_writable_bytes(std::span(longer))).failure().code ==
          errc::out_of_range);
    const auto mapped = object->map().value();
    CHECK(as_text(mapped.bytes()) == text);
  }
  CHECK(store.open(key("0")).value() == nullptr);
  CHECK(store.open(key("zz")).value() == nullptr);
  CHECK(store.open(store_key::root()).value() == nullptr);
}

TEST_CASE("ocdbt_store: a small cache of nodes gives the same") {
  const std::string folder = golden + "ocdbt/files_min_arity.ocdbt";
  const auto store = opened(folder, {.cache_bytes = 1}).value();
  const auto large = opened(folder).value();
  CHECK(contents_of(store) == contents_of(large));
}

TEST_CASE("ocdbt_store: as docs/orbax.md has it") {
  namespace zp = zarrpoint;
  const auto base = zp::file_store::open(golden + "orbax/two-processes").value();
  const auto older = zp::ocdbt_store::open(base, zp::store_key::root(), {.generation = 1}).value();
  const auto versions = older.versions().value();  // all that there are
  CHECK(versions.front() == older.version());
}

TEST_CASE("ocdbt_store: generations and times that are not there") {
  const std::string folder = golden + "ocdbt/files_min_arity.ocdbt";
  const ocdbt_version newest = opened(folder).value().version();
  CHECK(opened(folder, {.generation = newest.generation}).value().version() == newest);
  CHECK(opened(folder, {.commit_time = newest.commit_time}).value().version() == newest);
  CHECK(contains(opened(folder, {.generation = newest.generation + 1}).failure(),
                 "the newest is " + std::to_string(newest.generation)));
  CHECK(opened(folder, {.generation = 0}).failure().code == errc::not_found);
  CHECK(opened(folder, {.commit_time = 1}).failure().code == errc::not_found);
  CHECK(opened(folder, {.generation = 1, .commit_time = 1}).failure().code ==
        errc::invalid_argument);
  CHECK(contains(opened(golden + "ocdbt").failure(), "there is no manifest.ocdbt"));
}

TEST_CASE("ocdbt_store: prefixes that keys leave out, and keys that a store cannot have") {
  const auto leaf = test::ocdbt_leaf({"", "/b", "/c/d", "x"}, {"1", "2", "3", "4"});
  auto bytes = leaf;
  const auto parent = test::ocdbt_parent(1, "a", 1, "d/0", 0, leaf.size());
  bytes.insert(bytes.end(), parent.begin(), parent.end());
  const auto base = database(test::ocdbt_manifest("d/0", leaf.size(), parent.size(), 1), bytes);
  const auto store = ocdbt_store::open(base, key("db")).value();
  CHECK(text_at(store, "a") == "1");
  CHECK(text_at(store, "a/b") == "2");
  CHECK(text_at(store, "a/c/d") == "3");
  CHECK(text_at(store, "ax") == "4");
  CHECK(text_at(store, "b") == "(none)");
  CHECK(text_at(store, "a/c") == "(none)");
  const std::vector<list_entry> root{{"a", true}, {"ax", false}};
  CHECK(store.list(store_key::root()).value() == root);
  const std::vector<list_entry> below{{"b", false}, {"c", true}};
  CHECK(store.list(key("a")).value() == below);
  CHECK(store.list(key("b")).value().empty());
  CHECK(store.describe(key("a/b")).ends_with("db:a/b"));

  const auto odd =
      ocdbt_store::open(with_leaf(test::ocdbt_leaf({"..", "a/b"}, {"", "1"})), key("db")).value();
  CHECK(text_at(odd, "a/b") == "1");
  CHECK(odd.list(key("a")).value().size() == 1);
  CHECK(contains(odd.list(store_key::root()).failure(), "\"..\""));
}

TEST_CASE("ocdbt_store: what is damaged or hostile is refused by name") {
  const auto leaf = test::ocdbt_leaf({"a", "b"}, {"1", "2"});
  SUBCASE("each byte of a record is covered") {
    for (std::size_t i = 0; i < leaf.size(); ++i) {
      auto flipped = leaf;
      flipped[i] ^= std::byte{0x10};
      CHECK(failure_of(with_leaf(flipped), "a").code == errc::corrupt);
    }
    for (std::size_t size = 0; size < leaf.size(); ++size) {
      const std::vector<std::byte> cut(leaf.begin(),
                                       leaf.begin() + static_cast<std::ptrdiff_t>(size));
      CHECK(failure_of(with_leaf(cut), "a").code == errc::corrupt);
    }
  }
  SUBCASE("keys out of order, or twice") {
    CHECK(contains(failure_of(with_leaf(test::ocdbt_leaf({"b", "a"}, {"", ""}))), "not in order"));
    CHECK(contains(failure_of(with_leaf(test::ocdbt_leaf({"a", "a"}, {"", ""}))), "not in order"));
  }
  SUBCASE("no entry") {
    CHECK(failure_of(with_leaf(test::ocdbt_leaf({}, {}))).code == errc::corrupt);
  }
  SUBCASE("a height that is not the one told") {
    CHECK(contains(failure_of(database(test::ocdbt_manifest("d/0", 0, leaf.size(), 3), leaf)),
                   "height"));
    // A node that is its own child: heights fall, so that it ends.
    const auto self = test::ocdbt_parent(1, "a", 0, "d/0", 0, 1);
    auto again = test::ocdbt_parent(1, "a", 0, "d/0", 0, self.size());
    CHECK(
        contains(failure_of(database(test::ocdbt_manifest("d/0", 0, again.size(), 1), again), "a"),
                 "the node at byte 0"));
  }
  SUBCASE("a child that begins before its parent says") {
    auto bytes = leaf;
    const auto parent = test::ocdbt_parent(1, "b", 0, "d/0", 0, leaf.size());
    bytes.insert(bytes.end(), parent.begin(), parent.end());
    const auto base = database(test::ocdbt_manifest("d/0", leaf.size(), parent.size(), 1), bytes);
    CHECK(contains(failure_of(base, "b"), "begins with a key"));
  }
  SUBCASE("paths that lead out, and files that are not there") {
    for (const std::string path : {"../secret", "/etc/passwd", "d//0", "d/./0", ""})
      CHECK(contains(failure_of(database(test::ocdbt_manifest(path, 0, leaf.size(), 0), leaf)),
                     "no valid path"));
    CHECK(contains(failure_of(database(test::ocdbt_manifest("d/1", 0, leaf.size(), 0), leaf)),
                   "\"d/1\" is missing"));
    CHECK(contains(failure_of(database(test::ocdbt_manifest("d/0", 5, leaf.size(), 0), leaf)),
                   "end before byte 5"));
    CHECK(
        failure_of(database(test::ocdbt_manifest("d/0", ~std::uint64_t{0} - 3, 8, 0), leaf)).code ==
        errc::corrupt);
  }
  SUBCASE("values that leave their file or their node") {
    const auto outside = [](const std::string& file, std::uint64_t offset, std::uint64_t length) {
      test::ocdbt_bytes out;
      out.byte(0).text(test::ocdbt_table({file})).number(1).number(1).text("a");
      out.number(length).byte(1).number(0).number(offset);
      return test::ocdbt_record(0x0cdb20de, out.str());
    };
    CHECK(contains(failure_of(with_leaf(outside("d/0", 1000, 1)), "a"), "ends before its value"));
    CHECK(contains(failure_of(with_leaf(outside("d/0", ~std::uint64_t{0}, 2)), "a"),
                   "ends before its value"));
    CHECK(contains(failure_of(with_leaf(outside("../x", 0, 1)), "a"), "no valid path"));
    test::ocdbt_bytes within;
    within.byte(0)
        .number(0)
        .number(1)
        .number(1)
        .text("a")
        .number(~std::uint64_t{0})
        .byte(0)
        .text("xy");
    CHECK(contains(failure_of(with_leaf(test::ocdbt_record(0x0cdb20de, within.str()))),
                   "values are damaged"));
  }
  SUBCASE("counts and prefixes that bytes cannot hold") {
    for (const std::uint64_t count :
         {std::uint64_t{1} << 20, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
      test::ocdbt_bytes entries;
      entries.byte(0).number(0).number(count).text("xxxx");
      CHECK(failure_of(with_leaf(test::ocdbt_record(0x0cdb20de, entries.str()))).code ==
            errc::corrupt);
      test::ocdbt_bytes files;
      files.byte(0).number(count).text("xxxx");
      CHECK(failure_of(with_leaf(test::ocdbt_record(0x0cdb20de, files.str()))).code ==
            errc::corrupt);
    }
    test::ocdbt_bytes prefix;
    prefix.byte(0).number(0).number(2).number(9).numbers({1, 1}).text("ab").numbers({0, 0, 0, 0});
    CHECK(contains(failure_of(with_leaf(test::ocdbt_record(0x0cdb20de, prefix.str()))),
                   "keys are damaged"));
    test::ocdbt_bytes endless;
    endless.byte(0).text(std::string(11, '\xff'));
    CHECK(failure_of(with_leaf(test::ocdbt_record(0x0cdb20de, endless.str()))).code ==
          errc::corrupt);
  }
  SUBCASE("more than the limit") {
    const auto large = with_leaf(test::ocdbt_leaf({"a"}, {std::string(5000, 'x')}));
    CHECK(failure_of(large, "a", {.node_bytes = 4000}).code == errc::resource_limit);
    // Keys that share all but a byte take more than the body has.
    test::ocdbt_bytes shared;
    const std::uint64_t count = 200;
    shared.byte(0).number(0).number(count);
    for (std::uint64_t i = 1; i < count; ++i) shared.number(999 + i);
    shared.number(1000);
    for (std::uint64_t i = 1; i < count; ++i) shared.number(1);
    shared.text(std::string(1000 + count - 1, 'k'));
    for (std::uint64_t i = 0; i < 2 * count; ++i) shared.number(0);
    const auto keys = with_leaf(test::ocdbt_record(0x0cdb20de, shared.str()));
    CHECK(ocdbt_store::open(keys, key("db")).value().list(store_key::root()).has_value() == false);
    CHECK(contains(failure_of(keys, "a", {.node_bytes = 100'000}), "its keys take"));
  }
  SUBCASE("a later version of the format, and another compression") {
    CHECK(failure_of(with_leaf(test::ocdbt_record(0x0cdb20de, "x", 2))).code == errc::unsupported);
    CHECK(contains(failure_of(with_leaf(test::ocdbt_record(0x0cdb20de, "x", 1))), "zstd"));
    const auto kind = test::ocdbt_record(0x0cdb3a2a, test::ocdbt_configuration(2));
    CHECK(failure_of(database(kind, leaf)).code == errc::unsupported);
    const auto numbered = test::ocdbt_record(0x0cdb3a2a, test::ocdbt_configuration(1));
    CHECK(contains(failure_of(database(numbered, leaf)), "no numbered manifest"));
  }
}

TEST_CASE("ocdbt_store: nodes that share their children have no more keys than they say") {
  auto bytes = test::ocdbt_leaf({"x"}, {"1"});
  std::size_t at = 0, length = bytes.size();
  for (unsigned height = 1; height < 60; ++height) {
    test::ocdbt_bytes node;
    node.byte(height).text(test::ocdbt_table({"d/0"})).number(2).number(0).numbers({1, 1, 1, 1});
    node.text("ab").numbers({0, 0, at, at, length, length, 1, 1, 1, 1, 0, 0});
    const auto record = test::ocdbt_record(0x0cdb20de, node.str());
    at = bytes.size();
    length = record.size();
    bytes.insert(bytes.end(), record.begin(), record.end());
  }
  const auto base = database(test::ocdbt_manifest("d/0", at, length, 59), bytes);
  const auto store = ocdbt_store::open(base, key("db")).value();
  CHECK(contains(store.list(store_key::root()).failure(), "more keys than its version says"));
}

TEST_CASE("ocdbt_store: a numbered manifest, of which the newest counts") {
  const auto old = test::ocdbt_leaf({"a"}, {"old"});
  const auto fresh = test::ocdbt_leaf({"a"}, {"fresh"});
  auto data = old;
  data.insert(data.end(), fresh.begin(), fresh.end());
  const auto base = database(test::ocdbt_record(0x0cdb3a2a, test::ocdbt_configuration(1)), data);
  base.put(key("db/manifest.0000000000000009"), test::ocdbt_manifest("d/0", 0, old.size(), 0))
      .value();
  base.put(key("db/manifest.000000000000000a"),
           test::ocdbt_manifest("d/0", old.size(), fresh.size(), 0))
      .value();
  base.put(key("db/manifest.000000000000000b.tmp"), {}).value();
  CHECK(text_at(ocdbt_store::open(base, key("db")).value(), "a") == "fresh");
}

TEST_CASE("ocdbt_store: an empty database") {
  const auto base = database(test::ocdbt_manifest("", ~std::uint64_t{0}, ~std::uint64_t{0}, 0), {});
  const auto store = ocdbt_store::open(base, key("db")).value();
  CHECK(store.list(store_key::root()).value().empty());
  CHECK(store.open(key("a")).value() == nullptr);
  CHECK(store.lists_cheaply());  // as memory does
}

TEST_CASE("ocdbt format: paths, URLs and keys in a database") {
  const std::string folder = golden + "orbax/pytree-ocdbt-zarr3";
  const auto at = formats<ocdbt::format>().open(folder, {}).value();
  CHECK(at.key.is_root());
  CHECK(at.store.open(key("step/zarr.json")).value() != nullptr);
  const auto below = formats<ocdbt::format>().open("ocdbt://" + folder + "/step/", {}).value();
  CHECK(below.key.str() == "step");
  const auto found = array::open(below.store, below.key).value();
  CHECK(found.spec().shape.empty());
  CHECK(formats<ocdbt::format>().open("ocdbt://" + golden + "zip", {}).failure().code ==
        errc::not_found);
  CHECK(formats<ocdbt::format>().open("ocdbt://" + folder, {.write = true}).failure().code ==
        errc::unsupported);
  // Other directories are what they were, and where something is written.
  const test::temp_directory made;
  CHECK(formats<ocdbt::format>().open(made.path().string(), {}).value().key.is_root());
  CHECK(formats<ocdbt::format>().open(made / "new", {.write = true}).value().key.str() == "new");
}

TEST_CASE("ocdbt_store: nodes and what is kept of them fit the budget of the caller") {
  const ocdbt_options usual;
  CHECK(usual.within(UINT64_MAX).node_bytes == usual.node_bytes);
  CHECK(usual.within(UINT64_MAX).cache_bytes == usual.cache_bytes);
  CHECK(usual.within(1 << 20).node_bytes == (144 << 10));
  CHECK(usual.within(1 << 20).cache_bytes == (256 << 10));
  CHECK(ocdbt_options{.generation = 3, .node_bytes = 5}.within(1 << 20).node_bytes == 5);
  CHECK(ocdbt_options{.generation = 3}.within(0).generation == 3);

  const std::string big(400'000, 'x');
  const std::vector<std::byte> leaf = test::ocdbt_leaf({"a"}, {big});
  const std::vector<std::byte> manifest = test::ocdbt_manifest("d/0", 0, leaf.size(), 0);
  const test::temp_directory made;
  std::filesystem::create_directories(made / "db/d");
  test::write_file(made / "db/d/0", std::string(as_text(leaf)));
  test::write_file(made / "db/manifest.ocdbt", std::string(as_text(manifest)));
  for (const std::string& path : {made / "db", "ocdbt://" + (made / "db")}) {
    const auto whole = formats<ocdbt::format>().open(path, {}).value();
    CHECK(text_at(whole.store, "a") == big);
    const auto tight = formats<ocdbt::format>().open(path, {.memory = 1 << 20});
    const error failure = tight ? tight->store.open(key("a")).failure() : tight.failure();
    CHECK(failure.code == errc::resource_limit);
  }
}

}  // namespace ocdbt_store_test

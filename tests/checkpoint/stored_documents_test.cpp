// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// No bit of a document of a checkpoint can change without a word.

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/verify/stored_documents.hpp>
#include <zarrpoint/checkpoint/verify/verify.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "../support/commit_node.hpp"
#include "../support/random_rounds.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stored_documents_test {

using namespace zarrpoint;

namespace {

store_key key_of(std::string_view text) { return store_key::parse(text).value(); }

std::string text_of(const memory_store& store, std::string_view key) {
  const auto bytes = get(store, key_of(key), 1 << 20).value();
  return bytes ? std::string(as_text(*bytes)) : std::string();
}

void put(const memory_store& store, std::string_view key, std::string_view text) {
  store.put(key_of(key), as_bytes(text)).value();
}

const std::vector<float> values{1, 2, 3};

save_options options_of(int format, bool consolidated) {
  return {
      .zarr_format = format,
      .consolidated_metadata = consolidated,
      .attributes = json::object{{"note", "hi"}, {"n", 7}},
      .attributes_of = {{"a/w", json::object{{"unit", "m"}}}, {"a", json::object{{"layer", 1}}}}};
}

memory_store saved(int format, bool consolidated) {
  memory_store store;
  save({any_store(store), key_of("m")}, {{"a/w", values}, {"s", 5}},
       options_of(format, consolidated))
      .value();
  return store;
}

result<checkpoint> opened(const memory_store& store) {
  return open({any_store(store), key_of("m")});
}

/// What was wrong with what was read: empty when all is as it was saved, or was refused.
std::string silent_change(const checkpoint& of, const checkpoint& as_saved) {
  if (of.id() != as_saved.id()) return "id";
  if (of.names() != as_saved.names()) return "names";
  if (of.attributes() != as_saved.attributes() && of.warnings().empty()) return "attributes";
  for (const std::string name : {"a", "a/w", "s"}) {
    const auto own = of.attributes(name);
    if (own && *own != as_saved.attributes(name).value()) return "attributes of " + name;
  }
  const auto w = of.load<std::vector<float>>("a/w");
  if (w && *w != values) return "a/w";
  const auto s = of.load<int>("s");
  if (s && *s != 5) return "s";
  return {};
}

}  // namespace

TEST_CASE("documents: each bit of each document that flips is an error, or a warning at least" *
          doctest::skip(zarrpoint_test::is_about_threads)) {
  for (const int format : {2, 3}) {
    CAPTURE(format);
    const memory_store store = saved(format, true);
    const checkpoint as_saved = opened(store).value();
    REQUIRE(as_saved.warnings().empty());
    REQUIRE(verify(as_saved).value().result() == verdict::ok);
    REQUIRE(verify(as_saved).value().failures.empty());
    std::size_t flips = 0, refused = 0, warned = 0;
    for (const std::string file :
         {"zarr.json", "a/zarr.json", "a/w/zarr.json", ".zgroup", ".zattrs", ".zmetadata",
          "a/.zgroup", "a/.zattrs", "a/w/.zarray", "a/w/.zattrs"}) {
      const std::string text = text_of(store, "m/" + file);
      if (text.empty()) continue;
      const json before = parse_json(as_bytes(text)).value();
      // In the root's document, which alone is loaded from, each bit but for one of each byte in
      // the list of leaves, which has one checksum; so in the copies for other programs.
      const std::size_t leaves = text.find(R"("leaves":[)");
      const std::size_t seals = text.find(R"("attributes_crc32c")");
      const std::size_t copies = text.find(R"("consolidated_metadata")");
      const bool is_copy = leaves == text.npos && file != ".zgroup";
      for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
        const std::size_t at = bit / 8;
        const bool is_thin =
            zarrpoint_test::is_thinned || is_copy || (at > leaves && at < seals) || at > copies;
        if (is_thin && bit % 8 != at % 7) continue;
        ++flips;
        std::string changed = text;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
        put(store, "m/" + file, changed);
        const auto damaged = opened(store);
        if (!damaged) {
          ++refused;
          continue;
        }
        if (!damaged->warnings().empty()) ++warned;
        const std::string silent = silent_change(*damaged, as_saved);
        const bool ok = verify(*damaged).value().result() == verdict::ok;
        const bool same = ok && parse_json(as_bytes(changed)).value() == before;
        if (silent.empty() && ok == same) continue;
        FAIL_CHECK(file << ", bit " << bit << ": " << silent << (ok ? " verified: " : ": ")
                        << changed.substr(bit / 8 - std::min<std::size_t>(bit / 8, 50), 100));
        break;
      }
      put(store, "m/" + file, text);
    }
    CHECK(flips > zarrpoint_test::random_rounds(3000U));
    CHECK(refused > zarrpoint_test::random_rounds(1000U));
    CHECK(warned > zarrpoint_test::random_rounds(8U));
  }
}

TEST_CASE("documents: what is missing is told") {
  for (const int format : {2, 3}) {
    const memory_store store = saved(format, true);
    for (const char* file : {"zarr.json", "a/zarr.json", "a/w/zarr.json", ".zgroup", ".zattrs",
                             "a/.zgroup", "a/.zattrs", "a/w/.zarray", "a/w/.zattrs"}) {
      const std::string key = "m/" + std::string(file);
      const std::string text = text_of(store, key);
      if (text.empty()) continue;
      CAPTURE(file);
      store.erase(key_of(key)).value();
      const auto left = opened(store);
      // The root's own documents are those without which nothing is loaded.
      CHECK(left.has_value() == (std::string_view(file).find('/') != std::string_view::npos));
      if (left) CHECK(verify(*left).value().result() != verdict::ok);
      put(store, key, text);
    }
    CHECK(verify(opened(store).value()).value().result() == verdict::ok);
  }
  const memory_store store = saved(2, true);
  store.erase(key_of("m/.zattrs")).value();
  const auto lost = opened(store);
  REQUIRE_FALSE(lost);
  CHECK(lost.failure().code == errc::corrupt);
  CHECK(lost.failure().message.find("lacks the commit document") != std::string::npos);
}

TEST_CASE("documents: a commit document under another name is damage, not a hierarchy of others") {
  for (const int format : {2, 3}) {
    const memory_store store = saved(format, true);
    const std::string key = format == 2 ? "m/.zattrs" : "m/zarr.json";
    std::string text = text_of(store, key);
    text[text.find("\"zarrpoint\":{") + 3] ^= 1;  // "zasrpoint"
    put(store, key, text);
    const auto damaged = opened(store);
    REQUIRE_FALSE(damaged);
    CHECK(damaged.failure().code == errc::corrupt);
    CHECK(damaged.failure().message.find("under the name \"zasrpoint\"") != std::string::npos);
  }
}

TEST_CASE("documents: a checkpoint of before has no checksum of its attributes, and opens") {
  for (const int format : {2, 3}) {
    const memory_store store = saved(format, false);
    const std::string key = format == 2 ? "m/.zattrs" : "m/zarr.json";
    json root = parse_json(as_bytes(text_of(store, key))).value();
    json& attributes = format == 2 ? root : *root.find("attributes");
    detail::commit_document old =
        detail::parse_commit_document(*attributes.find("zarrpoint")).value();
    old.attributes_seal.clear();
    attributes.set("zarrpoint", commit_node::to_json(old));
    attributes.set("note", "edited, which nothing tells of");
    put(store, key, dump_json(root));
    if (format == 2) put(store, "m/.zgroup", R"({"zarr_format": 2})");
    const checkpoint read = opened(store).value();
    CHECK(read.id() == old.id);
    CHECK(read.warnings().empty());
    CHECK(verify(read).value().result() == verdict::ok);
  }
}

TEST_CASE("documents: another program may write them anew, and edit attributes") {
  for (const int format : {2, 3}) {
    const memory_store store = saved(format, false);
    const std::string key = format == 2 ? "m/.zattrs" : "m/zarr.json";
    const json root = parse_json(as_bytes(text_of(store, key))).value();
    put(store, key, dump_json(root, json_style::pretty));
    CHECK(opened(store).value().warnings().empty());
    CHECK(verify(opened(store).value()).value().result() == verdict::ok);

    json edited = root;
    json& attributes = format == 2 ? edited : *edited.find("attributes");
    attributes.set("note", "new");
    put(store, key, dump_json(edited));
    const checkpoint read = opened(store).value();
    CHECK(*read.attributes().find("note") == json("new"));
    CHECK(read.load<std::vector<float>>("a/w").value() == values);
    REQUIRE(read.warnings().size() == 1);
    CHECK(read.warnings()[0].find("zarrpoint seal") != std::string::npos);
    const verify_report report = verify(read).value();
    CHECK(report.documents == verdict::not_verified);
    CHECK(report.result() == verdict::not_verified);
    REQUIRE(report.failures.size() == 1);
    CHECK_FALSE(report.failures[0].is_fault);
    CHECK(report.failures[0].leaf.empty());
    CHECK(report.failures[0].file == "memory:" + key);
    for (const leaf_verification& leaf : report.leaves) CHECK(leaf.result == verdict::ok);
  }
}

TEST_CASE("documents: each bit of the names and headers of a zip file") {
  const test::temp_directory dir;
  for (const int format : {2, 3}) {
    CAPTURE(format);
    save(dir / "m.zip", {{"a/w", values}, {"s", 5}}, options_of(format, false)).value();
    const std::string whole = test::read_file(dir.path() / "m.zip");
    const checkpoint as_saved = open(dir / "m.zip").value();
    const memory_store store;
    const auto damaged = [&](const std::string& bytes) -> result<checkpoint> {
      put(store, "m.zip", bytes);
      ZARRPOINT_TRY(archive, zip_store::open(any_store(store), key_of("m.zip")));
      return open({any_store(archive), store_key::root()});
    };
    // The directory, which has all names; every byte of it, one bit of each.
    const std::size_t directory = whole.find("PK\1\2");
    REQUIRE(directory != std::string::npos);
    std::size_t loaded = 0;
    for (std::size_t at = directory; at < whole.size(); ++at) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
      const auto read = damaged(changed);
      if (!read) continue;
      ++loaded;
      const std::string silent = silent_change(*read, as_saved);
      if (!silent.empty()) FAIL_CHECK("byte " << at << ": " << silent);
    }
    CHECK(loaded > 0);
  }
}

TEST_CASE("documents: how two compare") {
  using detail::compare_documents;
  using detail::document_match;
  const auto parsed = [](std::string_view text) { return parse_json(as_bytes(text)).value(); };
  const std::string array =
      R"({"zarr_format":3,"node_type":"array","shape":[2],"data_type":"int8",)"
      R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},)"
      R"("chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}])";
  const json bare = parsed(array + "}");
  CHECK(compare_documents(bare, bare) == document_match::same);
  CHECK(compare_documents(parsed(array + R"(,"attributes":{}})"), bare) == document_match::same);
  CHECK(compare_documents(parsed(array + R"(,"attributes":{"a":1}})"), bare) ==
        document_match::other_attributes);
  // As zarr-python writes it: another order, and what is empty.
  CHECK(compare_documents(
            parsed(R"({"attributes":{"a":NaN},"storage_transformers":[],)" + array.substr(1) + "}"),
            parsed(array + R"(,"attributes":{"a":NaN}})")) == document_match::same);
  json other = bare;
  other.set("shape", json::array{3});
  CHECK(compare_documents(other, bare) == document_match::different);
  CHECK(compare_documents(json(), bare) == document_match::different);
}

}  // namespace stored_documents_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// Consolidated metadata of others are copies, and each difference from the nodes' own documents
// has a name.

#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/verify/stored_documents.hpp>
#include <zarrpoint/checkpoint/verify/verify.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/counting_store.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace consolidated_documents_test {

using namespace zarrpoint;

namespace {

using documents = std::vector<std::pair<std::string, std::string>>;
using list = std::vector<std::string>;

std::string array_v3(std::string_view shape = "[2]", std::string_view more = "") {
  return R"({"zarr_format":3,"node_type":"array","shape":)" + std::string(shape) +
         R"(,"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},)"
         R"("chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}])" +
         std::string(more) + "}";
}
std::string group_v3(std::string_view more = "") {
  return R"({"zarr_format":3,"node_type":"group")" + std::string(more) + "}";
}
std::string consolidated(const std::string& metadata) {
  return group_v3(
      R"(,"consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{)" +
      metadata + "}}");
}
const std::string array_v2 =
    R"({"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"|i1","compressor":null,"filters":null,"fill_value":0,"order":"C"})";
const std::string group_v2 = R"({"zarr_format":2})";
std::string zmetadata(const std::string& metadata) {
  return R"({"zarr_consolidated_format":1,"metadata":{)" + metadata + "}}";
}

memory_store stored(const documents& files) {
  memory_store store;
  for (const auto& [key, text] : files)
    store.put(store_key::parse(key).value(), as_bytes(text)).value();
  return store;
}

/// The names of what differs, behind them "-" where the own document is missing.
list differing(const any_store& store) {
  const auto contents = detail::read_contents(store, {}).value();
  const auto found = detail::check_consolidated(store, contents, {}).value();
  list out;
  for (const detail::document_finding& one : found.findings) {
    CHECK(one.is_fault);
    CHECK(one.file.find(contents.zarr_format == 2 ? ".zmetadata" : "zarr.json") !=
          std::string::npos);
    out.push_back(one.node);
  }
  for (const detail::stored_leaf& one : found.missing) out.push_back(one.name + '-');
  return out;
}

const documents stale = {
    {"zarr.json",
     consolidated(R"("same":)" + array_v3() + R"(,"resized":)" + array_v3() + R"(,"gone":)" +
                  array_v3() + R"(,"attributes":)" + array_v3() + R"(,"g":)" + group_v3() +
                  R"(,"no_group":)" + group_v3() + R"(,"kind":)" + array_v3())},
    {"same/zarr.json", array_v3("[2]", R"(,"attributes":{})")},
    {"same/c/0", "ab"},
    {"resized/zarr.json", array_v3("[4]")},
    {"attributes/zarr.json", array_v3("[2]", R"(,"attributes":{"unit":"m"})")},
    {"added/zarr.json", array_v3()},
    {"g/zarr.json", group_v3(R"(,"attributes":{"n":1})")},
    {"g/w/zarr.json", array_v3()},
    {"e/zarr.json", group_v3()},
    {"kind/zarr.json", group_v3()}};

}  // namespace

TEST_CASE("each difference between consolidated metadata and the nodes' documents is named") {
  const list wanted{"attributes", "g", "kind", "no_group", "resized", "added", "g/w", "e", "gone-"};
  CHECK(differing(stored(stale)) == wanted);
  // Where they were believed, the store is listed for it.
  CHECK(differing(zarrpoint_test::counting_store(stored(stale), true)) == wanted);
  // What cannot be listed is asked for by name: what was added is not found.
  CHECK(differing(zarrpoint_test::counting_store(stored(stale), false)) ==
        list{"attributes", "g", "kind", "no_group", "resized", "gone-"});
}

TEST_CASE("a copy that has the defaults of codecs, which the document leaves out, is the same") {
  const auto array = [](std::string_view level, std::string_view location) {
    return R"({"zarr_format":3,"node_type":"array","shape":[2],"data_type":"int8",)"
           R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},)"
           R"("chunk_key_encoding":{"name":"default"},"fill_value":0,)"
           R"("codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[1],)"
           R"("codecs":[{"name":"bytes"},{"name":"zstd","configuration":{"level":)" +
           std::string(level) + R"(}}],"index_codecs":[{"name":"bytes",)" +
           R"("configuration":{"endian":"little"}}])" + std::string(location) + "}}]}";
  };
  const auto with = [&](const std::string& copy, const std::string& own) {
    return differing(stored({{"zarr.json", consolidated(R"("a":)" + copy)}, {"a/zarr.json", own}}));
  };
  const std::string plain = array("1", "");
  CHECK(with(array("1,\"checksum\":false", R"(,"index_location":"end")"), plain).empty());
  CHECK(with(plain, array("1,\"checksum\":false", R"(,"index_location":"end")")).empty());
  CHECK(with(array("2", ""), plain) == list{"a"});
  CHECK(with(array("1", R"(,"index_location":"start")"), plain) == list{"a"});
  // An order of bytes that one of them leaves out is not a setting of the encoder.
  const auto ordered = [](std::string_view order) {
    return R"({"zarr_format":3,"node_type":"array","shape":[2],"data_type":"int16",)"
           R"("chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},)"
           R"("chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes")" +
           std::string(order) + "}]}";
  };
  const std::string little = ordered(R"(,"configuration":{"endian":"little"})");
  CHECK(with(ordered(""), little).empty());
  CHECK(with(ordered(""), ordered(R"(,"configuration":{"endian":"big"})")) == list{"a"});
  CHECK(with(array("1", R"(,"index_location":"end")"),
             array("1", R"(,"index_location":"start")")) == list{"a"});
}

TEST_CASE("consolidated metadata of Zarr v2, those of the root's attributes too") {
  const documents files = {{".zgroup", group_v2},
                           {".zattrs", R"({"r":1})"},
                           {"a/.zarray", array_v2},
                           {"a/.zattrs", R"({"x":1,"y":{"p":[1],"o":2}})"},
                           {"b/.zarray", array_v2}};
  const auto with = [&](const std::string& metadata) {
    documents out = files;
    out.emplace_back(".zmetadata", metadata);
    return differing(stored(out));
  };
  const std::string root = R"(".zgroup":)" + group_v2 + R"(,".zattrs":{"r":1})";
  const std::string b = R"(,"b/.zarray":)" + array_v2;
  // Sorted by another program, with a separator that is the usual one.
  std::string sorted = array_v2;
  sorted.insert(1, R"("dimension_separator":".",)");
  const std::string a = R"(,"a/.zattrs":{"y":{"o":2,"p":[1]},"x":1},"a/.zarray":)" + sorted;
  CHECK(differing(stored(files)) == list{});
  CHECK(with(zmetadata(root + a + b)) == list{});
  CHECK(with(zmetadata(a.substr(1) + b)) == list{""});
  CHECK(with(zmetadata(root + a)) == list{"b"});
  CHECK(with(zmetadata(root + R"(,"a/.zarray":)" + array_v2 + b)) == list{"a"});
  std::string longer = array_v2;
  longer.replace(longer.find("[2]"), 3, "[5]");
  CHECK(with(zmetadata(root + a + R"(,"b/.zarray":)" + longer)) == list{"b"});
  CHECK(with(zmetadata("")) == list{"", "a", "b"});
  // zarr-python writes all members of a compressor, TensorStore not.
  const auto compressed = [](std::string_view more) {
    std::string out = array_v2;
    out.replace(out.find("null"), 4, R"({"id":"zstd","level":1)" + std::string(more) + "}");
    return out;
  };
  const auto copied = [&](const std::string& copy, const std::string& own) {
    return differing(
        stored({{".zgroup", group_v2},
                {".zmetadata", zmetadata(R"(".zgroup":)" + group_v2 + R"(,"a/.zarray":)" + copy)},
                {"a/.zarray", own}}));
  };
  CHECK(copied(compressed(R"(,"checksum":false)"), compressed("")) == list{});
  CHECK(copied(compressed(""), array_v2) == list{"a"});
}

TEST_CASE("groups below the root may be consolidated, too") {
  const documents files = {
      {"zarr.json", group_v3()},
      {"g/zarr.json", consolidated(R"("gone":)" + array_v3() + R"(,"h/x":)" + array_v3("[9]"))},
      {"g/h/zarr.json", group_v3()},
      {"g/h/x/zarr.json", array_v3()},
      {"g/h/y/zarr.json", array_v3()},
      {"g-h/zarr.json", array_v3()}};
  CHECK(differing(stored(files)) == list{"g/gone", "g/h/x", "g/h/y"});
}

TEST_CASE("what cannot be read of consolidated metadata is a finding, and no crash") {
  memory_store store = stored({{".zgroup", group_v2}, {"a/.zarray", array_v2}});
  const auto contents = detail::read_contents(store, {}).value();
  for (const std::string_view text :
       {"", "{", "[]", "{}", R"({"zarr_consolidated_format":2})",
        R"({"zarr_consolidated_format":1,"metadata":3})",
        R"({"zarr_consolidated_format":1,"metadata":{"../a/.zarray":{}}})"}) {
    CAPTURE(text);
    store.put(store_key::parse(".zmetadata").value(), as_bytes(text)).value();
    const auto found = detail::check_consolidated(store, contents, {}).value();
    CHECK(found.findings.size() == 1);
  }
}

TEST_CASE("verify reports stale consolidated metadata as faults, by name") {
  const memory_store store = stored(stale);
  const auto faults_of = [](const any_store& from) {
    const verify_report report = verify(open(from).value()).value();
    CHECK(report.documents == verdict::faulty);
    CHECK(report.result() == verdict::faulty);
    list out;
    for (const verify_failure& one : report.failures)
      if (one.is_fault && one.what.message.find("consolidated metadata") != std::string::npos)
        out.push_back(one.leaf);
    return out;
  };
  CHECK(faults_of(store) ==
        list{"attributes", "g", "kind", "no_group", "resized", "added", "g/w", "e", "gone"});
  CHECK(faults_of(zarrpoint_test::counting_store(store, false)) ==
        list{"attributes", "g", "kind", "no_group", "resized", "gone"});
  const auto gone = open(store).value().load<tensor>("gone");
  REQUIRE_FALSE(gone);
  CHECK(gone.failure().code == errc::not_found);
  context stopped;
  stop_source source;
  source.request_stop();
  stopped.stop = source.token();
  CHECK_FALSE(verify(open(store, stopped).value()));
}

}  // namespace consolidated_documents_test

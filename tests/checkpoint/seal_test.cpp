// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/verify/seal.hpp>
#include <zarrpoint/checkpoint/verify/verify.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include "../support/commit_node.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace seal_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

namespace {

const std::vector<float> values{1, 2, 3};

struct model {
  test::temp_directory dir;
  std::string path = dir / "m.zarr";
  int format;

  model(int zarr_format, bool consolidated) : format(zarr_format) {
    save(path, {{"a/w", values}, {"b/w", values}, {"s", 5}},
         {.zarr_format = format,
          .consolidated_metadata = consolidated,
          .attributes = json::object{{"note", "hi"}},
          .attributes_of = {{"b/w", json::object{{"unit", "m"}}}}})
        .value();
  }
  fs::path file(const std::string& of, const char* v2) const {
    return fs::path(path) / of / (format == 2 ? v2 : "zarr.json");
  }
  json read(const fs::path& at) const {
    if (!fs::exists(at)) return json::object{};
    return parse_json(as_bytes(test::read_file(at))).value();
  }
  /// As another program does: the document is written anew.
  void edit(const std::string& of, const char* key, const json& value) const {
    const fs::path at = file(of, ".zattrs");
    json document = read(at);
    if (format == 3 && document.find("attributes") == nullptr)
      document.set("attributes", json::object{});
    (format == 2 ? document : *document.find("attributes")).set(key, value);
    test::write_file(at, dump_json(document, json_style::pretty));
  }
  verdict verified() const { return verify(open(path).value()).value().result(); }
};

}  // namespace

TEST_CASE("seal: attributes that were edited are taken as they are, of every node") {
  for (const int format : {2, 3}) {
    for (const bool consolidated : {false, true}) {
      CAPTURE(format);
      CAPTURE(consolidated);
      const model m(format, consolidated);
      const std::string id = open(m.path).value().id();
      const seal_report whole = seal(m.path).value();
      CHECK_FALSE(whole.is_written);
      CHECK(whole.accepted.empty());

      m.edit("", "note", "new");
      m.edit("a", "layer", 1);
      m.edit("a/w", "unit", "s");
      m.edit("b/w", "unit", "kg");
      CHECK(open(m.path).value().warnings().size() == 1);
      CHECK(m.verified() == verdict::not_verified);

      const seal_report report = seal(m.path).value();
      CHECK(report.is_written);
      CHECK(report.id == id);
      CHECK(report.accepted == std::vector<std::string>{"", "a", "a/w", "b/w"});
      const checkpoint now = open(m.path).value();
      CHECK(now.warnings().empty());
      CHECK(now.id() == id);
      CHECK(now.attributes() == json(json::object{{"note", "new"}}));
      CHECK(now.attributes("a").value() == json(json::object{{"layer", 1}}));
      CHECK(now.attributes("a/w").value() == json(json::object{{"unit", "s"}}));
      CHECK(now.attributes("b/w").value() == json(json::object{{"unit", "kg"}}));
      CHECK(now.load<std::vector<float>>("b/w").value() == values);
      CHECK(m.verified() == verdict::ok);
      const bool still = format == 2
                             ? fs::exists(fs::path(m.path) / ".zmetadata")
                             : m.read(m.file("", "")).find("consolidated_metadata") != nullptr;
      CHECK(still == consolidated);
      CHECK_FALSE(seal(m.path).value().is_written);
    }
  }
}

TEST_CASE("seal: attributes that were taken away are gone") {
  const model m(3, true);
  json document = m.read(m.file("b/w", ""));
  document.set("attributes", json::object{});
  test::write_file(m.file("b/w", ""), dump_json(document));
  CHECK(seal(m.path).value().accepted == std::vector<std::string>{"b/w"});
  CHECK(open(m.path).value().attributes("b/w").value().is_null());
  CHECK(m.verified() == verdict::ok);
}

TEST_CASE("seal: a checkpoint of before gets its checksums") {
  const model m(2, true);
  const fs::path at = m.file("", ".zattrs");
  json root = m.read(at);
  detail::commit_document old = detail::parse_commit_document(*root.find("zarrpoint")).value();
  old.attributes_seal.clear();
  root.set("zarrpoint", commit_node::to_json(old));
  test::write_file(at, dump_json(root));
  test::write_file(fs::path(m.path) / ".zgroup", R"({"zarr_format": 2})");
  const seal_report report = seal(m.path).value();
  CHECK(report.is_written);
  CHECK(report.accepted.empty());
  CHECK(m.read(fs::path(m.path) / ".zgroup").find("zarrpoint") != nullptr);
  m.edit("", "note", "new");
  CHECK(open(m.path).value().warnings().size() == 1);
}

TEST_CASE("seal: what is damaged, or not ours, is refused and left alone") {
  for (const int format : {2, 3}) {
    const model m(format, false);
    m.edit("", "note", "new");
    const fs::path at = m.file("a/w", ".zarray");
    json document = m.read(at);
    document.set("shape", json::array{4});
    test::write_file(at, dump_json(document));
    const std::string before = test::read_file(m.file("", ".zattrs"));
    const auto refused = seal(m.path);
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == errc::corrupt);
    CHECK(refused.failure().message.find(at.string()) != std::string::npos);
    CHECK(test::read_file(m.file("", ".zattrs")) == before);
  }
  const test::temp_directory dir;
  fs::create_directory(dir.path() / "o.zarr");
  test::write_file(dir.path() / "o.zarr/zarr.json", R"({"zarr_format":3,"node_type":"group"})");
  CHECK(seal(dir / "o.zarr").failure().code == errc::unsupported);
  CHECK(seal(dir / "none.zarr").failure().code == errc::not_found);
  save(dir / "m.zip", {{"s", 5}}).value();
  CHECK_FALSE(seal(dir / "m.zip").value().is_written);
}

}  // namespace seal_test

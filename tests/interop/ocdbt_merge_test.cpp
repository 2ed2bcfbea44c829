// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/ocdbt/ocdbt_writer.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "support/ocdbt_bytes.hpp"
#include "support/recording_store.hpp"
#include "support/store_texts.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace ocdbt_merge_test {

using namespace zarrpoint;
using test::contents_of;
using test::key;
using test::put;
using test::text_at;
using test::texts;

void copy(const any_store& from, const any_store& to, std::string_view above) {
  for (const auto& [name, text] : contents_of(from)) put(to, std::string(above) + name, text);
}

TEST_CASE("ocdbt_merge: what many processes wrote becomes one, and can move") {
  const memory_store base;
  texts expected;
  std::vector<store_key> parts;
  for (int process = 0; process < 3; ++process) {
    parts.push_back(key("db/ocdbt.process_" + std::to_string(process)));
    const auto writer = ocdbt_writer::open(base, parts.back(), {.node_bytes = 500}).value();
    for (int i = 0; i < 50; ++i) {
      const std::string name =
          "w" + std::to_string(i) + "/c/" + std::to_string(process % 2) + (i % 5 == 0 ? "/x" : "");
      const std::string text(static_cast<std::size_t>(i) * 50, static_cast<char>('a' + process));
      expected[name] = text;  // of the last that has it
      put(writer, name, text);
    }
    if (process == 1) CHECK(writer.erase(key("w1/c/1")).value());
    writer.commit().value();
  }
  expected.erase("w1/c/1");
  expected["w0/zarr.json"] = "{}";
  expected["mine"] = std::string(3000, 'm');
  {
    const ocdbt_writer writer = ocdbt_writer::open(base, key("db")).value();
    put(writer, "w0/zarr.json", "{}");
    put(writer, "w2/c/0", "older");
    put(writer, "mine", expected["mine"]);
    writer.commit().value();
  }
  const auto before = contents_of(base);
  const ocdbt_version made = ocdbt_merge(base, key("db"), parts, {.node_bytes = 700}).value();
  CHECK(made.generation == 2);
  CHECK(made.keys == expected.size());
  CHECK(contents_of(ocdbt_store::open(base, key("db")).value()) == expected);
  std::size_t added = 0;
  for (const auto& [name, text] : contents_of(base))
    if (!before.contains(name)) added += text.size();
  CHECK(added < made.value_bytes / 2);  // large values are not copied

  // A database of merged ones, at another place; the manifests of its parts are not needed.
  const memory_store moved;
  copy(base, moved, "far/away/");
  for (int process = 0; process < 3; ++process)
    CHECK(
        moved.erase(key("far/away/db/ocdbt.process_" + std::to_string(process) + "/manifest.ocdbt"))
            .value());
  const std::vector<store_key> one{key("far/away/db")};
  CHECK(ocdbt_merge(moved, key("far"), one).value().keys == expected.size());
  CHECK(contents_of(ocdbt_store::open(moved, key("far")).value()) == expected);
  // Others go on with it.
  const auto writer = ocdbt_writer::open(moved, key("far")).value();
  CHECK(writer.erase(key("mine")).value());
  put(writer, "w3/c/0", "new");
  expected.erase("mine");
  expected["w3/c/0"] = "new";
  writer.commit().value();
  CHECK(contents_of(ocdbt_store::open(moved, key("far")).value()) == expected);
}

TEST_CASE("ocdbt_merge: what is missing, damaged or elsewhere is refused, and nothing is made") {
  const memory_store base;
  const auto part = ocdbt_writer::open(base, key("db/part"), {.node_bytes = 200}).value();
  for (int i = 0; i < 30; ++i) put(part, std::to_string(i), std::string(1100, 'x'));
  part.commit().value();
  const auto code = [&](const std::vector<store_key>& parts) {
    const auto made = ocdbt_merge(base, key("db"), parts);
    REQUIRE_FALSE(made);
    CHECK_FALSE(base.open(key("db/manifest.ocdbt")).value());
    return made.failure().code;
  };
  CHECK(code({key("db")}) == errc::invalid_argument);
  CHECK(code({key("db/part"), key("other")}) == errc::invalid_argument);
  CHECK(code({key("db/part"), key("db/none")}) == errc::not_found);
  const auto files = base.list(key("db/part/d")).value();
  REQUIRE(files.size() == 1);
  const store_key file = key("db/part/d/" + files[0].name);
  const std::string data = text_at(base, file.str());
  base.put(file, as_bytes(data.substr(0, 20'000))).value();
  CHECK(code({key("db/part")}) == errc::corrupt);
  base.put(file, as_bytes(data)).value();
  CHECK(ocdbt_merge(base, key("db"), std::vector{key("db/part")}).value().keys == 30);
}

TEST_CASE("ocdbt_merge: nodes that share their children are refused") {
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
  const zarrpoint_test::recording_store base;
  base.set("db/p/d/0", bytes);
  base.set("db/p/manifest.ocdbt", test::ocdbt_manifest("d/0", at, length, 59));
  const auto made = ocdbt_merge(base, key("db"), std::vector{key("db/p")});
  REQUIRE_FALSE(made);
  CHECK(made.failure().code == errc::corrupt);
  CHECK_FALSE(base.has("db/manifest.ocdbt"));
}

}  // namespace ocdbt_merge_test

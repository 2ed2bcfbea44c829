// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>
#include <zarrpoint/store/zip/zip_writer.hpp>

#include "support/store_conformance.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>

namespace zip_writer_test {

using namespace zarrpoint;

TEST_CASE("zip_writer: conformance, in memory and in a file") {
  test::store_conformance(
      [] { return zip_writer::begin(memory_store(), test::key("x.zip")).value(); });
  const test::temp_directory directory;
  const auto files = file_store::open(directory.path().string()).value();
  test::store_conformance([&] { return zip_writer::begin(files, test::key("x.zip")).value(); });
  // None was finished, and none left anything behind.
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("zip_writer: what was written is what zip_store reads; the same gives the same bytes") {
  const memory_store store;
  const auto large = test::random_bytes(3'000'000);
  for (const char* name : {"1.zip", "2.zip"}) {
    const auto writer = zip_writer::begin(store, test::key(name)).value();
    writer.put(test::key("zarr.json"), as_bytes("{}")).value();
    writer.put(test::key("a/c/0"), large).value();
    writer.put(test::key("a/zarr.json"), as_bytes("old")).value();
    writer.put(test::key("a/zarr.json"), as_bytes("new")).value();
    writer.put(test::key("gone"), as_bytes("x")).value();
    CHECK(writer.erase(test::key("gone")).value());
    writer.put(test::key("empty"), {}).value();
    CHECK(store.open(test::key(name)).value() == nullptr);
    writer.finish().value();
    CHECK_FALSE(writer.finish());
  }
  CHECK(test::read_object(store, "1.zip") == test::read_object(store, "2.zip"));
  const auto members = detail::read_zip_directory(*store.open(test::key("1.zip")).value()).value();
  CHECK(members.size() == 4);  // each once
  const auto archive = zip_store::open(store, test::key("1.zip")).value();
  CHECK(test::read_object(archive, "a/c/0") == large);
  CHECK(as_text(test::read_object(archive, "a/zarr.json")) == "new");
  CHECK(test::read_object(archive, "empty").empty());
  CHECK_FALSE(test::has_object(archive, "gone"));
}

TEST_CASE("zip_writer: a synced file whose members move and take each other's place") {
  const test::temp_directory directory;
  const any_store files = file_store::open(directory.path().string(), {.sync = true}).value();
  const auto writer = zip_writer::begin(files, test::key("x.zip")).value();
  const auto bytes = test::random_bytes(3'300'001);
  const bytes_view all(bytes);
  {
    const any_store to(writer);
    const auto first = to.create(test::key("a")).value();
    first->write(0, all.first(1'300'001)).value();
    const auto second = to.create(test::key("b")).value();
    second->write(0, all.first(1'500'000)).value();
    first->write(1'300'001, all.subspan(1'300'001)).value();  // grows, so that it moves
    const auto third = to.create(test::key("c")).value();
    third->reserve(2'000'000).value();
    third->write(0, all.subspan(1'000'000, 2'000'000)).value();  // where it was
    for (const auto& one : {&first, &second, &third}) (*one)->finish().value();
  }
  writer.finish().value();
  const auto archive = zip_store::open(files, test::key("x.zip")).value();
  CHECK(test::read_object(archive, "a") == bytes);
  CHECK(std::ranges::equal(test::read_object(archive, "b"), all.first(1'500'000)));
  CHECK(std::ranges::equal(test::read_object(archive, "c"), all.subspan(1'000'000, 2'000'000)));
}

TEST_CASE("zip_writer: more members than 16 bits count") {
  const memory_store store;
  const auto writer = zip_writer::begin(store, test::key("x.zip")).value();
  for (int i = 0; i < 66'000; ++i)
    writer.put(test::key("c/" + std::to_string(i)), as_bytes("x")).value();
  writer.finish().value();
  const auto archive = zip_store::open(store, test::key("x.zip")).value();
  CHECK(archive.list(test::key("c")).value().size() == 66'000);
  CHECK(as_text(test::read_object(archive, "c/65999")) == "x");
}

TEST_CASE("zip_writer: beyond 4 GiB, where the file system has holes") {
  const test::temp_directory directory;
  const auto files = file_store::open(directory.path().string()).value();
  const auto writer = zip_writer::begin(files, test::key("x.zip")).value();
  const std::uint64_t size = (std::uint64_t{4} << 30) + 100;
  {
    // Its bytes are never written, and no room is reserved for them: a hole that takes no disk.
    // Only what is beyond is of interest.
    const auto large = writer.create(test::key("large")).value();
    large->write(size - 1, as_bytes("x")).value();
    writer.put(test::key("small"), as_bytes("hello")).value();
  }
  writer.finish().value();
  const auto archive = zip_store::open(files, test::key("x.zip")).value();
  CHECK(as_text(test::read_object(archive, "small")) == "hello");
  const auto members = detail::read_zip_directory(*files.open(test::key("x.zip")).value()).value();
  REQUIRE(members.size() == 1);
  CHECK(members[0].header_offset > 0xffffffff);
  CHECK(archive.open(test::key("small")).value()->map().value().bytes().size() == 5);
}

TEST_CASE("zip_writer: the file ends with its directory, whatever stood at its end before") {
  const auto large = test::random_bytes(4 << 20);
  const auto small = test::random_bytes(100);
  const auto check = [&](std::string_view what, auto&& leave) {
    CAPTURE(what);
    const memory_store store;
    const auto writer = zip_writer::begin(store, test::key("x.zip")).value();
    writer.put(test::key("kept"), small).value();
    leave(writer);
    writer.finish().value();
    const auto archive = zip_store::open(store, test::key("x.zip"));
    REQUIRE(archive);
    CHECK(test::read_object(*archive, "kept") == small);
    CHECK(archive->list(store_key::root()).value().size() == 1);
  };
  check("erased", [&](const zip_writer& writer) {
    writer.put(test::key("gone"), large).value();
    CHECK(writer.erase(test::key("gone")).value());
  });
  check("abandoned", [&](const zip_writer& writer) {
    const auto gone = writer.create(test::key("gone")).value();
    gone->reserve(large.size()).value();
    gone->write(0, large).value();
  });
  check("replaced by what fits a gap before it", [&](const zip_writer& writer) {
    writer.put(test::key("gap"), large).value();
    writer.put(test::key("kept"), large).value();
    CHECK(writer.erase(test::key("gap")).value());
    writer.put(test::key("kept"), small).value();
  });
}

TEST_CASE("zip_writer: room that was never written takes no place in the file") {
  const memory_store store;
  const auto writer = zip_writer::begin(store, test::key("x.zip")).value();
  const auto data = test::random_bytes(3 << 20);
  {
    const auto member = writer.create(test::key("a")).value();
    for (std::size_t at = 0; at < data.size(); at += 1 << 18)
      member->write(at, bytes_view(data).subspan(at, 1 << 18)).value();
    member->finish().value();
  }
  writer.finish().value();
  CHECK(store.open(test::key("x.zip")).value()->size() < data.size() + 8192);
  const auto archive = zip_store::open(store, test::key("x.zip")).value();
  CHECK(test::read_object(archive, "a") == data);
}

}  // namespace zip_writer_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/place.hpp>

#include "support/store_conformance.hpp"
#include "support/temp_directory.hpp"
#include "support/zip_bytes.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace place_test {

using namespace zarrpoint;

TEST_CASE("place: a directory, to read its root, to write its parent") {
  const test::temp_directory directory;
  const std::string path = directory / "m.zarr";
  CHECK(directory_place(path, {}).failure().code == errc::not_found);
  const auto target = directory_place(path + "/", {.write = true}).value();
  CHECK(target.key.str() == "m.zarr");
  target.store.put(test::key("m.zarr/a"), as_bytes("x")).value();
  const auto source = directory_place(path, {}).value();
  CHECK(source.key.is_root());
  CHECK(test::has_object(source.store, "a"));
  CHECK_FALSE(source.store.can_write());
  for (const char* wrong : {"", "/", "/nowhere/.."})
    CHECK(directory_place(wrong, {.write = true}).failure().code == errc::invalid_argument);
}

TEST_CASE("place: a zip file, through a link too; the directory in it that holds all") {
  const test::temp_directory directory;
  const auto opened = [&](const std::vector<test::zip_part>& parts) {
    test::write_file(directory / "x.zip", test::zip_of(parts));
    return detail::zip_place(directory / "x.zip", {}).value().key.str() == ""
               ? std::string()
               : std::string(detail::zip_place(directory / "x.zip", {}).value().key.str());
  };
  CHECK(opened({{"zarr.json", "{}"}, {"a/zarr.json", "{}"}}).empty());
  CHECK(opened({{"a/zarr.json", "{}"}, {"a/b/zarr.json", "{}"}}) == "a");
  CHECK(opened({{"a/.zgroup", "{}"}}) == "a");
  CHECK(opened({{"a/.zgroup", "{}"}, {"b/.zgroup", "{}"}}).empty());
  CHECK(opened({{"a/.zgroup", "{}"}, {"readme", "x"}}).empty());
  CHECK(opened({{"a/b/.zgroup", "{}"}}).empty());
  std::filesystem::create_symlink("x.zip", directory / "link.zip");
  const auto linked = detail::zip_place(directory / "link.zip", {}).value();
  CHECK(test::has_object(linked.store, "a/b/.zgroup"));
  CHECK(detail::zip_place(directory / "none.zip", {}).failure().code == errc::not_found);
  CHECK(detail::zip_place(directory.path().string(), {}).failure().code == errc::io);
}

TEST_CASE("place: the directory of a zip file takes no more than the budget of the caller") {
  std::vector<test::zip_part> parts;
  for (int i = 0; i < 1000; ++i) parts.push_back({"a/" + std::to_string(i), "x"});
  const test::temp_directory directory;
  test::write_file(directory / "x.zip", test::zip_of(parts));
  CHECK(detail::zip_place(directory / "x.zip", {.memory = std::uint64_t{1} << 20}));
  const auto tight = detail::zip_place(directory / "x.zip", {.memory = 1024});
  CHECK(tight.failure().code == errc::resource_limit);
}

TEST_CASE("place: what follows a zip file in a path is a key in it") {
  const test::temp_directory directory;
  const std::string path = directory / "x.zip";
  test::write_file(path, test::zip_of({{"a/zarr.json", "{}"}, {"b/c/zarr.json", "{}"}}));
  std::filesystem::create_symlink("x.zip", directory / "link");
  for (const std::string& file : {path, directory / "link"}) {
    CHECK(detail::zip_place(file + "/a", {}).value().key.str() == "a");
    CHECK(detail::zip_place(file + "//b/c/", {}).value().key.str() == "b/c");
    CHECK(detail::zip_place(file + "/", {}).value().key.is_root());
    const auto there = detail::zip_place(file + "/b", {}).value();
    CHECK(test::has_object(there.store, "b/c/zarr.json"));
    for (const char* wrong : {"/..", "/a/../b", "/../x.zip", "/a//b", "/./a"})
      CHECK(detail::zip_place(file + wrong, {}).failure().code == errc::invalid_argument);
    const auto into = detail::zip_place(file + "/a", {.write = true});
    REQUIRE_FALSE(into);
    CHECK(into.failure().code == errc::invalid_argument);
    CHECK(into.failure().message.find("\"a\" cannot be put into it") != std::string::npos);
  }
  CHECK(detail::zip_place(directory / "none.zip/a", {}).failure().code == errc::not_found);
}

TEST_CASE("place: a path is cut at the first part that is a file") {
  const test::temp_directory directory;
  test::write_file(directory / "f", "x");
  const auto cut = [](const std::string& path) {
    const detail::path_in_file parts = detail::split_at_file(path);
    return parts.file + '|' + parts.rest;
  };
  const std::string file = directory / "f";
  const std::string folder = directory.path().string();
  CHECK(cut(file) == file + '|');
  CHECK(cut(file + "///") == file + '|');
  CHECK(cut(file + "/a/b/") == file + "|a/b");
  CHECK(cut(file + "/../f/b") == file + "|../f/b");
  CHECK(cut(folder + "/../" + directory.path().filename().string() + "/f/b") ==
        folder + "/../" + directory.path().filename().string() + "/f|b");
  for (const std::string& whole : {folder, folder + "/none", folder + "/none/f", std::string(),
                                   std::string("/"), std::string("none"), std::string("a/b")})
    CHECK(cut(whole) == whole + '|');
}

TEST_CASE("place: a zip file to write is a store whose root is published") {
  const test::temp_directory directory;
  for (const bool sync : {true, false}) {
    const auto target =
        detail::zip_place(directory / "new.zip", {.write = true, .sync = sync}).value();
    CHECK(target.key.is_root());
    CHECK_FALSE(target.store.can_write());
    const auto staged = target.store.stage(target.key, {.overwrite = true}).value();
    staged->store().put(test::key("zarr.json"), as_bytes("{}")).value();
    staged->commit().value();
    CHECK(
        test::has_object(detail::zip_place(directory / "new.zip", {}).value().store, "zarr.json"));
  }
}

TEST_CASE("place: which paths mean a zip file") {
  const test::temp_directory directory;
  CHECK(detail::is_zip_path(directory / "new.zarr.zip"));
  CHECK_FALSE(detail::is_zip_path(directory / "new.zarr"));
  std::filesystem::create_directory(directory / "folder.zip");
  CHECK_FALSE(detail::is_zip_path(directory / "folder.zip"));
  test::write_file(directory / "archive", test::zip_of({{"a", "x"}}));
  CHECK(detail::is_zip_path(directory / "archive"));
  CHECK(detail::is_zip_path(directory / "archive/a/b"));
  test::write_file(directory / "text", "PK");
  CHECK_FALSE(detail::is_zip_path(directory / "text"));
  CHECK_FALSE(detail::is_zip_path(directory / "text/a"));
  test::write_file(directory / "cut.zip", "");
  CHECK(detail::is_zip_path(directory / "cut.zip/a"));
  CHECK_FALSE(detail::is_zip_path(directory / "folder.zip/a"));
}

}  // namespace place_test

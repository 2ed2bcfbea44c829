// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/hierarchy/store_tree.hpp>
#include <zarrpoint/checkpoint/load/checkpoint.hpp>
#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/checkpoint/verify/verify.hpp>
#include <zarrpoint/store/file/file_options.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/child_process.hpp"
#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// Symbolic links in hierarchies: refused by name or followed, and never passed over.

namespace links_test {

using namespace zarrpoint;
namespace fs = std::filesystem;

namespace {

/// A group with the arrays "a" and "b", two bytes each, every byte a file.
struct hierarchy {
  test::temp_directory dir;
  fs::path root = dir.path() / "h";

  hierarchy() {
    write("zarr.json", R"({"zarr_format":3,"node_type":"group"})");
    for (const std::string name : {"a", "b"}) {
      write(name + "/zarr.json",
            R"({"zarr_format":3,"node_type":"array","data_type":"int8","shape":[2],"chunk_grid":)"
            R"({"name":"regular","configuration":{"chunk_shape":[1]}},"chunk_key_encoding":)"
            R"({"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}]})");
      write(name + "/c/0", "\x01");
      write(name + "/c/1", "\x02");
    }
  }
  void write(const std::string& name, const std::string& bytes) const {
    fs::create_directories((root / name).parent_path());
    test::write_file(root / name, bytes);
  }
  /// Moves what has a name, and puts a link there.
  void link(const std::string& name, const std::string& to) const {
    fs::remove_all(root / to);
    fs::create_directories((root / to).parent_path());
    fs::rename(root / name, root / to);
    fs::create_symlink(fs::relative(root / to, (root / name).parent_path()), root / name);
  }
  file_store store(link_scope scope) const {
    return file_store::open(root.string(), {.read_only = true, .follow_links = scope}).value();
  }
  verify_report report(link_scope scope) const {
    return verify(open(store(scope)).value()).value();
  }
};

bool mentions(const error& failure, const std::string& text) {
  return failure.message.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("links: a linked chunk is refused by name, and followed where that is allowed") {
  const hierarchy h;
  h.link("a/c/1", "a/moved");
  CHECK(mentions(
      open(h.store(link_scope::none)).value().load<std::vector<std::int8_t>>("a").failure(),
      h.root.string() + "/a/c/1: the path has a symbolic link"));
  const verify_report refused = h.report(link_scope::none);
  CHECK(refused.result() == verdict::not_verified);
  REQUIRE(refused.failures.size() == 1);
  CHECK(refused.failures[0].key == "c/1");
  CHECK(!refused.failures[0].is_fault);
  CHECK(refused.leaves[0].chunks == 1);
  const memory_store to;
  const auto copied = detail::copy_tree({h.store(link_scope::none), store_key::parse("a").value()},
                                        {to, store_key::parse("a").value()});
  REQUIRE(!copied);
  CHECK(mentions(copied.failure(), "/a/c/1: the path has a symbolic link"));
  if (!test::has_openat2()) return;
  CHECK(
      open(h.store(link_scope::beneath_root)).value().load<std::vector<std::int8_t>>("a").value() ==
      std::vector<std::int8_t>{1, 2});
  CHECK(h.report(link_scope::beneath_root).result() == verdict::ok);
}

TEST_CASE(
    "links: a chunk behind a link that leads nowhere or in a circle is never the fill value") {
  for (const char* to : {"gone", "1"}) {
    CAPTURE(to);
    const hierarchy h;
    fs::remove(h.root / "b/c/1");
    fs::create_symlink(to, h.root / "b/c/1");
    for (const link_scope scope :
         {link_scope::none, link_scope::beneath_root, link_scope::anywhere}) {
      if (scope == link_scope::beneath_root && !test::has_openat2()) continue;
      CAPTURE(static_cast<int>(scope));
      CHECK(mentions(open(h.store(scope)).value().load<std::vector<std::int8_t>>("b").failure(),
                     "symbolic link"));
      const verify_report report = h.report(scope);
      CHECK(report.result() == verdict::not_verified);
      REQUIRE(report.failures.size() == 1);
      CHECK(report.failures[0].file == h.root.string() + "/b/c/1");
      CHECK(report.leaves[1].chunks == 1);
    }
  }
}

TEST_CASE("links: a linked array does not vanish from the hierarchy") {
  const hierarchy h;
  h.link("b", "../elsewhere");
  const auto names = [&](link_scope scope) {
    return open(h.store(scope)).transform([](const checkpoint& all) { return all.names(); });
  };
  const std::vector<std::string> both{"a", "b"};
  CHECK(mentions(names(link_scope::none).failure(),
                 h.root.string() + "/b/zarr.json: the path has a symbolic link"));
  CHECK(names(link_scope::anywhere).value() == both);
  CHECK(h.report(link_scope::anywhere).result() == verdict::ok);
  if (!test::has_openat2()) return;
  CHECK(mentions(names(link_scope::beneath_root).failure(),
                 "/b/zarr.json: a symbolic link leads out of the store"));
  h.write("b2/zarr.json", test::read_file(h.dir.path() / "elsewhere/zarr.json"));
  fs::remove(h.root / "b");
  fs::create_directory_symlink("b2", h.root / "b");
  CHECK(names(link_scope::beneath_root).value() == std::vector<std::string>{"a", "b", "b2"});
  // A circle of directories ends.
  fs::create_directory_symlink(".", h.root / "self");
  CHECK(mentions(names(link_scope::beneath_root).failure(), "self/self"));
}

TEST_CASE("links: a directory that holds a link alone is not empty, and no save replaces it") {
  const test::temp_directory dir;
  fs::create_directory(dir / "m.zarr");
  fs::create_symlink("nowhere", dir / "m.zarr/link");
  const auto refused = save(dir / "m.zarr", {{"step", 1}}, {.overwrite = true});
  REQUIRE(!refused);
  CHECK(refused.failure().code == errc::already_exists);
  CHECK(fs::is_symlink(dir / "m.zarr/link"));
}

TEST_CASE("links: what others linked into a checkpoint stays when it is replaced") {
  const test::temp_directory dir;
  save(dir / "m.zarr", {{"step", 1}}).value();
  fs::create_symlink("nowhere", dir / "m.zarr/link");
  fs::create_directory_symlink(dir.path(), dir / "m.zarr/other");
  const save_report report = save(dir / "m.zarr", {{"step", 2}}, {.overwrite = true}).value();
  CHECK(report.kept == std::vector<std::string>{"link", "other"});
  CHECK(fs::read_symlink(dir / "m.zarr/link") == "nowhere");
  CHECK(open(dir / "m.zarr").value().load<int>("step").value() == 2);
}

}  // namespace links_test

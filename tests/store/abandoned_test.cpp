// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/store/file/posix.hpp>
#include <zarrpoint/store/file/remove_tree.hpp>

#include "support/store_conformance.hpp"
#include "support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

namespace abandoned_test {

using namespace zarrpoint;
namespace fs = std::filesystem;
using test::names_in;

TEST_CASE("abandoned: what killed writers left is removed at once, what others work on is not") {
  using detail::temporary_kind;
  const test::temp_directory dir;
  const file_store store = file_store::open(dir.path().string()).value();
  const detail::unique_fd parent(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const bool locks = detail::has_true_locks(parent.get());
  const auto make = [&](const std::string& name) {
    fs::create_directories(dir.path() / name / "d");
    test::write_file(dir.path() / name / "d/x", "x");
    return name;
  };
  const auto is_there = [&](const std::string& name) { return fs::exists(dir.path() / name); };
  const std::string dead = make(detail::temporary_name("m", temporary_kind::locked));
  const std::string sibling = make(detail::temporary_name("step_7", temporary_kind::locked));
  const std::string file = detail::temporary_name("m.zip", temporary_kind::locked);
  test::write_file(dir / file, "a file");
  const std::string unknown = make(detail::temporary_name("m", temporary_kind::unlocked));
  const std::string aside = make(detail::temporary_name("m", temporary_kind::aside));
  // Of other programs, however much they look like ours.
  const std::vector<std::string> foreign = {make(".m.tmp." + std::string(32, 'a')),
                                            make(".m.tmp.short"), make("m2.tmp." + dead.substr(7)),
                                            make(".m2.tmp." + dead.substr(7))};
  fs::create_directory_symlink(dir / "m2.tmp." + dead.substr(7),
                               dir / detail::temporary_name("link", temporary_kind::locked));
  const auto file_at_work = store.create(test::key("file")).value();
  file_at_work->write(0, as_bytes("x")).value();
  auto at_work = store.stage(test::key("m"), {.overwrite = true, .sync = false}).value();
  at_work->store().put(test::key("x"), as_bytes("x")).value();
  CHECK(is_there(dead) == !locks);  // by `stage`
  CHECK(is_there(sibling) == !locks);
  CHECK(is_there(file) == !locks);
  const std::string folder = dir / "";

  CHECK(detail::remove_abandoned(parent.get(), folder).empty());
  CHECK(is_there(unknown));  // it is young
  CHECK(is_there(aside));
  // Below 0, since the clock of a file system may be ahead of the one that time() reads. What lies
  // aside is the last copy: nothing is at "m" yet.
  const auto warnings = detail::remove_abandoned(parent.get(), folder, -60);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].starts_with(folder + aside + " was moved aside by a save that was killed"));
  CHECK_FALSE(is_there(dead));
  CHECK_FALSE(is_there(unknown));
  CHECK(is_there(aside));
  CHECK(is_there(at_work->staged_name()));
  CHECK(at_work->commit());
  CHECK(test::read_file(dir / "m/x") == "x");
  CHECK(file_at_work->finish());
  CHECK(detail::remove_abandoned(parent.get(), folder, -60).empty());
  CHECK_FALSE(is_there(aside));
  for (const std::string& name : foreign) CHECK(test::read_file(dir / name + "/d/x") == "x");
  CHECK(names_in(dir.path()).size() == foreign.size() + 3);  // and m, the file, the link
}

TEST_CASE("abandoned: of owners that nothing tells of, the newest file in a tree tells the age") {
  const test::temp_directory dir;
  const std::string name = detail::temporary_name("m", detail::temporary_kind::unlocked);
  fs::create_directories(dir / name + "/a/b");
  test::write_file(dir / name + "/a/b/x", "x");
  const detail::unique_fd parent(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const struct ::timespec ahead[2] = {{::time(nullptr) + 7200, 0}, {::time(nullptr) + 7200, 0}};
  REQUIRE(::utimensat(AT_FDCWD, (dir / name + "/a/b/x").c_str(), ahead, 0) == 0);
  CHECK(detail::remove_abandoned(parent.get(), "", -3600).empty());
  CHECK(fs::exists(dir / name));
  CHECK(detail::remove_abandoned(parent.get(), "", -10'000).empty());
  CHECK_FALSE(fs::exists(dir / name));
}

}  // namespace abandoned_test

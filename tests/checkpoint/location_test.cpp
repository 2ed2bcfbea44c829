// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/store/memory_store.hpp>

#include "../support/temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>

namespace location_test {

using namespace zarrpoint;

TEST_CASE("a path is written through its parent, and read as a store of its own") {
  const test::temp_directory dir;
  std::filesystem::create_directories(dir / "a/m.zarr");
  for (const std::string& path : {dir / "a/m.zarr", dir / "a/m.zarr/", dir / "a/m.zarr///"}) {
    CHECK(detail::location_access::to_write(path).value().key.str() == "m.zarr");
    CHECK(detail::location_access::to_read(path).value().key.is_root());
  }
  CHECK(detail::location_access::to_write("m.zarr").value().key.str() == "m.zarr");
  CHECK(location("m.zarr").name() == "m.zarr");
}

TEST_CASE("a file URL has a path of this machine, and anything else is its name") {
  const auto path = [](const location& where) {
    return detail::location_access::local_path(where);
  };
  CHECK(path("file:///a%20b/m.zarr") == "/a b/m.zarr");
  CHECK(path("file://localhost/m") == "/m");
  CHECK(path("file:///%zz") == "file:///%zz");
  CHECK(path("a/m.zarr") == "a/m.zarr");
  CHECK(path("zip:///a/m.zip") == "zip:///a/m.zip");
}

TEST_CASE("paths that name no checkpoint are refused") {
  for (const char* path : {"", "/", "..", "a/..", "."}) {
    CAPTURE(path);
    CHECK_FALSE(detail::location_access::to_write(path));
  }
  CHECK(detail::location_access::to_write("/nowhere/at/all").failure().code == errc::not_found);
  CHECK(detail::location_access::to_read("/nowhere/at/all").failure().code == errc::not_found);
}

TEST_CASE("a key of a store is itself") {
  const store_key key = store_key::parse("runs/7").value();
  const location where(memory_store(), key);
  CHECK(detail::location_access::to_write(where).value().key == key);
  CHECK(detail::location_access::to_read(where).value().key == key);
  CHECK(where.name().find("runs/7") != std::string::npos);
}

}  // namespace location_test

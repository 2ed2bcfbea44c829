// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/file/file_store.hpp>

#include "temp_directory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace zarrpoint_test {

/// A directory beside the running test, as the one for temporary files often lies in memory, where
/// no file grows in one step.
class growing_files {
 public:
  const std::filesystem::path& path() const { return folder_.path(); }
  std::string operator/(const std::string& name) const { return folder_ / name; }

  /// Whether files here grow in one step, with `sync` so that it holds for a power cut; says so
  /// where they do not.
  bool are_there(bool sync = false) const {
    test::write_file(folder_.path() / "probe", "old");
    const auto store = zarrpoint::file_store::open(path().string(), {.sync = sync}).value();
    const auto key = zarrpoint::store_key::parse("probe").value();
    const bool grows = store.extend(key, *store.open(key).value()).value() != nullptr;
    std::filesystem::remove(folder_.path() / "probe");
    if (!grows) MESSAGE("skipped: no ext4", sync ? " with a journal" : "", " at ", path().string());
    return grows;
  }

 private:
  test::temp_directory folder_{std::filesystem::current_path()};
};

}  // namespace zarrpoint_test

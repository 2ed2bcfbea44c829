// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checkpoints of Orbax in directories, and what lies in them.

#include <zarrpoint/interop/orbax_save/orbax_save_options.hpp>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace zarrpoint_test {

/// The four forms in which arrays are kept.
inline std::vector<zarrpoint::orbax::save_tree_options> layouts(bool sync = false) {
  std::vector<zarrpoint::orbax::save_tree_options> out;
  for (const int zarr : {2, 3})
    for (const bool ocdbt : {false, true})
      out.push_back({.zarr_format = zarr, .ocdbt = ocdbt, .sync = sync});
  return out;
}

inline std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    out.insert(entry.path().filename().string());
  return out;
}

/// Files and directories beneath, but for what data files are called.
inline std::set<std::string> files_in(const std::filesystem::path& folder) {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    std::string name = std::filesystem::relative(entry.path(), folder).string();
    if (const std::size_t at = name.find("d/"); at != name.npos) name.resize(at + 1);
    out.insert(name);
  }
  return out;
}

}  // namespace zarrpoint_test

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checkpoints of Orbax in directories, and what lies in them.

#include <zarrpoint/checkpoint/save/save.hpp>
#include <zarrpoint/interop/orbax/orbax_value.hpp>
#include <zarrpoint/interop/orbax_save/orbax_save.hpp>

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint_test {

/// Options of a save of Orbax's that tests change one by one.
struct tree_options {
  zarrpoint::save_options all{};
  zarrpoint::orbax::format own{};

  operator zarrpoint::save_options() const {  // NOLINT(google-explicit-constructor)
    zarrpoint::save_options out = all;
    out.format = own;
    return out;
  }
};

/// The four forms in which arrays are kept.
inline std::vector<tree_options> layouts(bool sync = false) {
  std::vector<tree_options> out;
  for (const int zarr : {2, 3})
    for (const bool ocdbt : {false, true})
      out.push_back({.all = {.zarr_format = zarr, .sync = sync}, .own = {.ocdbt = ocdbt}});
  return out;
}

/// As Python would print it, with types in the place of leaves.
inline std::string text_of(const zarrpoint::orbax::tree_value& value) {
  using zarrpoint::orbax::value_kind;
  const auto members = [&](std::string begin, std::string_view end, bool named) {
    for (const auto& [name, member] : value.members)
      begin += (&name == &value.members[0].first ? "" : ", ") + (named ? name + ": " : "") +
               text_of(member);
    return begin + std::string(end);
  };
  switch (value.kind) {
    case value_kind::leaf: return value.type;
    case value_kind::dict: return members("{", "}", true);
    case value_kind::list: return members("[", "]", false);
    case value_kind::tuple: return members("(", ")", false);
    case value_kind::named_tuple: return members(value.type + '(', ")", true);
  }
  return {};
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

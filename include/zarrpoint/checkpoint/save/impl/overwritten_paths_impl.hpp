// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/checkpoint/document/names.hpp>
#include <zarrpoint/checkpoint/save/overwritten_paths.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/owned_paths.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE void add_documents(const std::string& folder, std::vector<std::string>& out) {
  for (const char* name : {"zarr.json", ".zgroup", ".zattrs", ".zarray", ".zmetadata"})
    out.push_back(folder.empty() ? name : folder + "/" + name);
}

/// Of a root that is an array: all that may be a chunk of it.
ZARRPOINT_INLINE result<void> add_root_chunks(const any_store& root,
                                              std::vector<std::string>& out) {
  ZARRPOINT_TRY(entries, root.list(store_key::root()));
  for (const list_entry& entry : entries) {
    std::string_view name = entry.name;
    if (name == "c" || name.starts_with("c.")) name.remove_prefix(1);
    if (name.find_first_not_of("0123456789.") == name.npos) out.push_back(entry.name);
  }
  return {};
}

/// We wrote nothing that cannot be opened, such as a link or a pipe.
ZARRPOINT_INLINE bool holds_document(const any_store& root, const store_key& folder) {
  for (const char* name : {"zarr.json", ".zgroup", ".zarray"}) {
    const auto key = folder.child(name);
    if (!key) continue;
    const auto document = root.open(*key);
    if (document && *document != nullptr) return true;
  }
  return false;
}

ZARRPOINT_INLINE result<std::vector<std::string>> paths_of_checkpoint(const any_store& root,
                                                                      const context& how) {
  std::vector<std::string> out;
  add_documents({}, out);
  const auto contents = read_contents(root, how);
  if (contents) {
    std::vector<std::string_view> names;
    for (const stored_leaf& leaf : contents->leaves) {
      if (leaf.name.empty()) {
        ZARRPOINT_CHECK(add_root_chunks(root, out));
      } else {
        names.emplace_back(leaf.name);
        out.push_back(leaf.name);
      }
    }
    const auto groups = groups_of(names, contents->groups);
    if (groups)
      for (const std::string& group : *groups) add_documents(group, out);
  } else if (root.can_list()) {
    ZARRPOINT_TRY(entries, root.list(store_key::root()));
    for (const list_entry& entry : entries) {
      const auto folder = store_key::root().child(entry.name);
      if (!entry.is_prefix || !folder) continue;
      if (holds_document(root, *folder)) out.push_back(entry.name);
    }
  }
  sort_names(out);
  return out;
}

ZARRPOINT_INLINE void add_late(late_entries late, std::vector<std::string>& kept,
                               std::vector<std::string>& warnings) {
  kept.insert(kept.end(), late.kept.begin(), late.kept.end());
  sort_names(kept);
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  if (!late.left.empty()) warnings.push_back(std::move(late.left));
  for (std::string& one : late.uncleaned) warnings.push_back(std::move(one));
}

ZARRPOINT_INLINE result<std::vector<std::string>> erase_own(const any_store& root,
                                                            const owned_paths& owned) {
  std::vector<std::string> kept;
  std::vector<store_key> open{store_key::root()};
  while (!open.empty()) {
    const store_key at = std::move(open.back());
    open.pop_back();
    ZARRPOINT_TRY(entries, root.list(at));
    for (const list_entry& entry : entries) {
      const auto key = at.child(entry.name);
      if (!key) continue;
      const std::string path(key->str());
      const path_owner owner = owned.owner_of(path);
      if (owner == path_owner::foreign) kept.push_back(entry.is_prefix ? path + "/" : path);
      if (owner == path_owner::mixed && entry.is_prefix) open.push_back(*key);
      if (owner != path_owner::own) continue;
      if (entry.is_prefix) ZARRPOINT_CHECK(root.erase_all(*key));
      ZARRPOINT_CHECK(root.erase(*key));
    }
  }
  sort_names(kept);
  return kept;
}

}}}  // namespace zarrpoint::v0::detail

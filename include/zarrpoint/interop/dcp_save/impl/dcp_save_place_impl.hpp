// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/dcp_save/dcp_save_place.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/store/stored_place.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace dcp { namespace detail {

ZARRPOINT_INLINE bool is_own_file(std::string_view name) {
  if (name == metadata_file || name == ".metadata.tmp") return true;
  return name.starts_with("__") && (name.ends_with(".distcp") || name.ends_with(metadata_file));
}

ZARRPOINT_INLINE result<bool> check_place(const stored_place& target, const location& where,
                                          bool overwrite) {
  const auto there = [&](std::string_view what) {
    return error{errc::already_exists, where.name() + " " + std::string(what)};
  };
  if (!target.key.is_root()) {
    // A store may answer for a directory with an error of its own; then it lists something.
    const auto object = target.store.open(target.key);
    if (object && *object != nullptr)
      return there("is a file, not a checkpoint; nothing was changed");
  }
  for (const std::string_view name : {"metadata.json", "zarr.json", ".zgroup", ".zarray"}) {
    ZARRPOINT_TRY(key, target.key.child(name));
    const auto document = get(target.store, key, 1 << 20);
    // What is too large to be read here is there all the same.
    const bool is_there =
        document ? document->has_value() : document.failure().code == errc::resource_limit;
    const bool is_megatrons =
        document && *document &&
        as_text(**document).find("\"sharded_backend\"") != std::string_view::npos;
    if (is_there && (name != "metadata.json" || is_megatrons))
      return there("holds " + std::string(name) +
                   " of a checkpoint of another kind; nothing was changed");
  }
  bool is_checkpoint = false;
  bool has_others = false;
  if (target.store.can_list()) {
    ZARRPOINT_TRY(children, target.store.list(target.key));
    for (const list_entry& child : children) {
      if (!is_own_file(child.name) || child.is_prefix) {
        has_others = true;
      } else {
        is_checkpoint = is_checkpoint || child.name.ends_with(metadata_file);
      }
    }
    // What a save that was not finished left has no `.metadata`.
    is_checkpoint = is_checkpoint || (!has_others && !children.empty());
  } else {
    ZARRPOINT_TRY(key, target.key.child(metadata_file));
    ZARRPOINT_TRY(object, target.store.open(key));
    is_checkpoint = object != nullptr;
  }
  if (!is_checkpoint && !has_others) return false;
  if (!is_checkpoint)
    return there("is not empty and is not a checkpoint of PyTorch; nothing was changed");
  if (!overwrite) return there("is there already, and state_save_options::overwrite is false");
  return true;
}

ZARRPOINT_INLINE any_store beneath(const stored_place& target) {
  return target.key.is_root() ? target.store : any_store(prefix_store(target.store, target.key));
}

ZARRPOINT_INLINE result<std::vector<std::string>> own_files(const any_store& root) {
  std::vector<std::string> out;
  if (!root.can_list()) return out;
  ZARRPOINT_TRY(children, root.list(store_key::root()));
  for (const list_entry& child : children)
    if (!child.is_prefix && is_own_file(child.name)) out.push_back(child.name);
  std::sort(out.begin(), out.end());
  return out;
}

}}}}  // namespace zarrpoint::v0::dcp::detail

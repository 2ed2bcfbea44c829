// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/location.hpp>
#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/stored_place.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <chrono>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Whether a root document holds a commit document of ours, even one that `open` would refuse.
ZARRPOINT_INLINE bool holds_commit(bytes_view document, std::size_t max_bytes) {
  const result<node> parsed = parse_json(document, {.max_bytes = max_bytes});
  if (!parsed) return false;
  const node* attributes = parsed->find("attributes");
  const node* member = (attributes ? attributes : &*parsed)->find(commit_document::member_name);
  return member != nullptr && member->if_object() != nullptr;
}

ZARRPOINT_INLINE result<bool> check_target(const stored_place& target, const location& where,
                                           const save_options& options, const limits& limit) {
  const auto there = [&](std::string_view what) {
    return error{errc::already_exists, where.name() + " " + std::string(what)};
  };
  for (const std::string_view name : {"zarr.json", ".zattrs", ".zgroup", ".zarray"}) {
    ZARRPOINT_TRY(key, target.key.child(name));
    ZARRPOINT_TRY(document, get(target.store, key, limit.metadata_bytes));
    if (!document) continue;
    if (!options.overwrite) return there("is there already, and save_options::overwrite is false");
    if (holds_commit(*document, limit.metadata_bytes)) return true;
    return there("holds " + std::string(name) +
                 ", but no checkpoint of zarrpoint's, or a damaged one; it was left alone");
  }
  if (!target.key.is_root()) {
    // A store may answer for a directory with an error of its own; then it lists something.
    auto object = target.store.open(target.key);
    if (object && *object != nullptr)
      return there("is a file, not a checkpoint; it was left alone");
  }
  if (!target.store.can_list()) return false;
  ZARRPOINT_TRY(children, target.store.list(target.key));
  if (children.empty()) return false;
  return there("is not empty and holds no checkpoint; it was left alone");
}

}}}  // namespace zarrpoint::v0::detail

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

ZARRPOINT_INLINE bool holds_commit(const node& document, bool is_attributes) {
  const node* attributes = is_attributes ? &document : document.find("attributes");
  const node* member =
      attributes != nullptr ? attributes->find(commit_document::member_name) : nullptr;
  return member != nullptr && member->if_object() != nullptr;
}

/// What could not be read for want of memory is not taken for the document of another program.
ZARRPOINT_INLINE result<bool> holds_commit(bytes_view document, bool is_attributes,
                                           const json_limits& limit) {
  const result<node> parsed = parse_json(document, limit);
  if (!parsed && parsed.failure().code == errc::resource_limit) return parsed.failure();
  return parsed && holds_commit(*parsed, is_attributes);
}

ZARRPOINT_INLINE result<bool> holds_commit(const any_store& root, const limits& limit) {
  for (const std::string_view name : {"zarr.json", ".zattrs"}) {
    ZARRPOINT_TRY(key, store_key::parse(name));
    ZARRPOINT_TRY(document, get(root, key, document_limits(limit).max_bytes));
    if (!document) continue;
    ZARRPOINT_TRY(
        ours,
        holds_commit(*document, name == ".zattrs", document_limits(limit)).at(root.describe(key)));
    if (ours) return true;
  }
  return false;
}

ZARRPOINT_INLINE result<bool> check_target(const stored_place& target, const location& where,
                                           const save_options& options, const limits& limit) {
  const auto there = [&](std::string_view what) {
    return error{errc::already_exists, where.name() + " " + std::string(what)};
  };
  // A directory of Megatron-Core's, in any of its formats. Theirs has some hundred bytes.
  ZARRPOINT_TRY(distributed, target.key.child("metadata.json"));
  const auto of_others = get(target.store, distributed, 1 << 20);
  const bool is_distributed = of_others && *of_others &&
                              as_text(**of_others).find("\"sharded_backend\"") != std::string::npos;
  if (is_distributed)
    return there(options.overwrite
                     ? "holds metadata.json of a distributed checkpoint, which this save does not "
                       "replace; nothing was changed"
                     : "is there already, and save_options::overwrite is false");
  for (const std::string_view name : {"zarr.json", ".zattrs", ".zgroup", ".zarray"}) {
    ZARRPOINT_TRY(key, target.key.child(name));
    ZARRPOINT_TRY(document, get(target.store, key, document_limits(limit).max_bytes));
    if (!document) continue;
    if (!options.overwrite) return there("is there already, and save_options::overwrite is false");
    ZARRPOINT_TRY(ours, holds_commit(*document, name == ".zattrs", document_limits(limit))
                            .at(target.store.describe(key)));
    if (ours) return true;
    return there("holds " + std::string(name) +
                 ", which is not of a zarrpoint checkpoint, or is damaged; nothing was changed");
  }
  if (!target.key.is_root()) {
    // A store may answer for a directory with an error of its own; then it lists something.
    auto object = target.store.open(target.key);
    if (object && *object != nullptr)
      return there("is a file, not a checkpoint; nothing was changed");
  }
  bool is_empty = of_others && !*of_others;
  if (target.store.can_list()) {
    ZARRPOINT_TRY(children, target.store.list(target.key));
    is_empty = children.empty();
  }
  if (is_empty) return false;
  return there("is not empty and is not a checkpoint; nothing was changed");
}

}}}  // namespace zarrpoint::v0::detail

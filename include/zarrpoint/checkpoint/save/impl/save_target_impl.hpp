// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/save/save_target.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/store/base/any_store.hpp>
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

}}}  // namespace zarrpoint::v0::detail

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/concepts.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<std::unique_ptr<blob_writer>> any_store::create(
    const store_key& key) const {
  return model_->create(key);
}

ZARRPOINT_INLINE result<std::vector<list_entry>> any_store::list(const store_key& prefix) const {
  return model_->list(prefix);
}

ZARRPOINT_INLINE result<std::unique_ptr<publication>> any_store::stage(
    const store_key& key, const publish_options& how) const {
  return model_->stage(key, how);
}

ZARRPOINT_INLINE result<void> any_store::rename(const store_key& from, const store_key& to) const {
  return model_->rename(from, to);
}

ZARRPOINT_INLINE bool any_store::is_above(const store_key& top, const any_store& other,
                                          const store_key& key) const {
  if (model_ == other.model_)
    return top.is_root() ? !key.is_root() : key.str().starts_with(std::string(top.str()) + '/');
  const void* const mine = identity();
  const void* const theirs = other.identity();
  if (mine != nullptr && theirs != nullptr && mine != theirs) return false;
  return other.describe(key).starts_with(describe(top) + '/');
}

}}  // namespace zarrpoint::v0

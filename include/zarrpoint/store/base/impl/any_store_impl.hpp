// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/concepts.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<std::unique_ptr<blob_writer>> any_store::create(
    const store_key& key) const {
  return model_->create(key);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_extension>> any_store::extend(
    const store_key& key, const blob& before) const {
  return model_->extend(key, before);
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

ZARRPOINT_INLINE bool detail::may_exist(const any_store& store, const store_key& key) {
  if (key.is_root() || !store.can_list()) return true;
  const auto beside = store.list(key.parent());
  if (!beside) return true;
  return std::any_of(beside->begin(), beside->end(),
                     [&](const list_entry& entry) { return entry.name == key.name(); });
}

ZARRPOINT_INLINE error detail::nothing_at(const any_store& store, const store_key& key,
                                          std::string_view otherwise) {
  std::string text = store.describe(key);
  if (may_exist(store, key)) {
    text += otherwise;
  } else {
    text += " does not exist";
  }
  return {errc::not_found, std::move(text)};
}

ZARRPOINT_INLINE result<std::optional<std::vector<std::byte>>> get(const any_store& store,
                                                                   const store_key& key,
                                                                   std::uint64_t max_bytes) {
  return get<any_store>(store, key, max_bytes);
}

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/prefix_store.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE prefix_store::prefix_store(any_store base, store_key prefix)
    : base_(std::move(base)), prefix_(std::move(prefix)) {}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> prefix_store::open(const store_key& key) const {
  if (key.is_root()) return std::unique_ptr<blob>();
  ZARRPOINT_TRY(full, prefix_.child(key));
  return base_.open(full);
}

ZARRPOINT_INLINE std::string prefix_store::describe(const store_key& key) const {
  const auto full = prefix_.child(key);
  return full ? base_.describe(*full) : base_.describe(prefix_) + "/" + std::string(key.str());
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_writer>> prefix_store::create(
    const store_key& key) const {
  ZARRPOINT_TRY(full, object_key(key));
  return base_.create(full);
}

ZARRPOINT_INLINE result<void> prefix_store::put(const store_key& key, bytes_view bytes) const {
  ZARRPOINT_TRY(full, object_key(key));
  return base_.put(full, bytes);
}

ZARRPOINT_INLINE result<std::unique_ptr<blob_extension>> prefix_store::extend(
    const store_key& key, const blob& before) const {
  ZARRPOINT_TRY(full, object_key(key));
  return base_.extend(full, before);
}

ZARRPOINT_INLINE result<bool> prefix_store::erase(const store_key& key) const {
  if (key.is_root()) return false;
  ZARRPOINT_TRY(full, prefix_.child(key));
  return base_.erase(full);
}

ZARRPOINT_INLINE result<std::vector<list_entry>> prefix_store::list(const store_key& prefix) const {
  ZARRPOINT_TRY(full, prefix_.child(prefix));
  return base_.list(full);
}

ZARRPOINT_INLINE result<std::unique_ptr<publication>> prefix_store::stage(
    const store_key& key, const publish_options& how) const {
  ZARRPOINT_TRY(full, prefix_.child(key));
  return base_.stage(full, how);
}

ZARRPOINT_INLINE result<void> prefix_store::rename(const store_key& from,
                                                   const store_key& to) const {
  ZARRPOINT_TRY(full_from, object_key(from));
  ZARRPOINT_TRY(full_to, object_key(to));
  return base_.rename(full_from, full_to);
}

ZARRPOINT_INLINE result<bool> prefix_store::erase_all(const store_key& prefix) const {
  ZARRPOINT_TRY(full, prefix_.child(prefix));
  return base_.erase_all(full);
}

ZARRPOINT_INLINE result<store_key> prefix_store::object_key(const store_key& key) const {
  if (!key.is_root()) return prefix_.child(key);
  return error{errc::invalid_argument,
               "write " + describe(key) + ": the root of a store is not an object"};
}

}}  // namespace zarrpoint::v0

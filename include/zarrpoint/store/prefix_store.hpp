// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/any_store.hpp>
#include <zarrpoint/store/key.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0 {

/// What lies beneath one key of another store, as a store.
class prefix_store {
 public:
  prefix_store(any_store base, store_key prefix)
      : base_(std::move(base)), prefix_(std::move(prefix)) {}

  result<std::unique_ptr<blob>> open(const store_key& key) const {
    if (key.is_root()) return std::unique_ptr<blob>();
    ZARRPOINT_TRY(full, prefix_.child(key));
    return base_.open(full);
  }
  std::string describe(const store_key& key) const {
    const auto full = prefix_.child(key);
    return full ? base_.describe(*full) : base_.describe(prefix_) + "/" + std::string(key.str());
  }
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const {
    ZARRPOINT_TRY(full, object_key(key));
    return base_.create(full);
  }
  result<void> put(const store_key& key, bytes_view bytes) const {
    ZARRPOINT_TRY(full, object_key(key));
    return base_.put(full, bytes);
  }
  result<bool> erase(const store_key& key) const {
    if (key.is_root()) return false;
    ZARRPOINT_TRY(full, prefix_.child(key));
    return base_.erase(full);
  }
  result<std::vector<list_entry>> list(const store_key& prefix) const {
    ZARRPOINT_TRY(full, prefix_.child(prefix));
    return base_.list(full);
  }
  result<std::unique_ptr<publication>> stage(const store_key& key,
                                             const publish_options& how = {}) const {
    ZARRPOINT_TRY(full, prefix_.child(key));
    return base_.stage(full, how);
  }

  result<void> rename(const store_key& from, const store_key& to) const {
    ZARRPOINT_TRY(full_from, object_key(from));
    ZARRPOINT_TRY(full_to, object_key(to));
    return base_.rename(full_from, full_to);
  }

  result<bool> erase_all(const store_key& prefix) const {
    ZARRPOINT_TRY(full, prefix_.child(prefix));
    return base_.erase_all(full);
  }

  bool can_write() const { return base_.can_write(); }
  bool can_list() const { return base_.can_list(); }
  bool can_publish() const { return base_.can_publish(); }
  const void* identity() const { return base_.identity(); }

 private:
  /// The root of this store may be an object of the other; here it is none.
  result<store_key> object_key(const store_key& key) const {
    if (!key.is_root()) return prefix_.child(key);
    return error{errc::invalid_argument,
                 "write " + describe(key) + ": the root of a store is no object"};
  }

  any_store base_;
  store_key prefix_;
};

}  // namespace zarrpoint::inline v0

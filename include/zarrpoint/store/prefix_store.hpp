// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <memory>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// What lies beneath one key of another store, as a store.
class prefix_store {
 public:
  prefix_store(any_store base, store_key prefix);

  result<std::unique_ptr<blob>> open(const store_key& key) const;
  std::string describe(const store_key& key) const;
  result<std::unique_ptr<blob_writer>> create(const store_key& key) const;
  result<void> put(const store_key& key, bytes_view bytes) const;
  result<std::unique_ptr<blob_extension>> extend(const store_key& key, const blob& before) const;
  result<bool> erase(const store_key& key) const;
  result<std::vector<list_entry>> list(const store_key& prefix) const;
  result<std::unique_ptr<publication>> stage(const store_key& key,
                                             const publish_options& how = {}) const;

  result<void> rename(const store_key& from, const store_key& to) const;

  result<bool> erase_all(const store_key& prefix) const;

  bool share(const store_key& key, const blob& from) const;

  bool can_write() const { return base_.can_write(); }
  bool can_list() const { return base_.can_list(); }
  bool can_publish() const { return base_.can_publish(); }
  bool lists_cheaply() const { return base_.lists_cheaply(); }
  const void* identity() const { return base_.identity(); }

 private:
  /// The root of this store may be an object of the other; here it is none.
  result<store_key> object_key(const store_key& key) const;

  any_store base_;
  store_key prefix_;
};

}}  // namespace zarrpoint::v0

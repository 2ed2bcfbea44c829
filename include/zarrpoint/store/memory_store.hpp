// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// Objects in the memory of this process: for tests, and for checkpoints that never reach a disk.
/// Copies of the handle are the same store.
class memory_store {
 public:
  memory_store();

  result<std::unique_ptr<blob>> open(const store_key& key) const;

  std::string describe(const store_key& key) const { return "memory:" + std::string(key.str()); }

  result<void> put(const store_key& key, bytes_view bytes) const;

  result<std::unique_ptr<blob_writer>> create(const store_key& key) const;

  result<bool> erase(const store_key& key) const;

  /// Moves an object, or all beneath a key. Errors: `not_found`, `already_exists`,
  /// `invalid_argument` for the root and for a place within itself.
  result<void> rename(const store_key& from, const store_key& to) const;

  /// Erases all beneath a key, in one step; false when nothing was there.
  result<bool> erase_all(const store_key& prefix) const;

  result<std::vector<list_entry>> list(const store_key& prefix) const;

  bool lists_cheaply() const { return true; }
  const void* identity() const noexcept { return state_.get(); }

  /// A tree in a store of its own, whose objects replace those beneath `key` in one step.
  result<std::unique_ptr<publication>> stage(const store_key& key,
                                             const publish_options& how = {}) const;

 private:
  using shared_bytes = std::shared_ptr<const std::vector<std::byte>>;

  struct object_map;
  struct state;

  explicit memory_store(std::shared_ptr<state> shared) : state_(std::move(shared)) {}

  static error no_object();

  /// What the keys beneath `prefix` begin with.
  static std::string below(const store_key& prefix);

  result<void> insert(const store_key& key, shared_bytes bytes) const;

  class writer;

  class staged;

  std::shared_ptr<state> state_;
};

}}  // namespace zarrpoint::v0

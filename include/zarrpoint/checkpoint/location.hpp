// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/any_store.hpp>
#include <zarrpoint/store/key.hpp>
#include <zarrpoint/store/place.hpp>
#include <zarrpoint/store/registry.hpp>

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint::inline v0 {

/// Where a checkpoint is: a path in the file system (a directory, or a file whose name ends with
/// ".zip"), a URL of a scheme that the context's table of stores has, or a key of any store.
class location {
 public:
  location(const char* path) : path_(path) {}             // NOLINT(google-explicit-constructor)
  location(std::string path) : path_(std::move(path)) {}  // NOLINT(google-explicit-constructor)
  location(std::string_view path) : path_(path) {}        // NOLINT(google-explicit-constructor)
  template <class S>
    requires(!std::same_as<S, location> && (std::same_as<S, any_store> || readable_store<S>))
  location(S store, store_key key = store_key::root())  // NOLINT(google-explicit-constructor)
      : store_(std::move(store)), key_(std::move(key)) {}

  /// What error messages call it.
  std::string name() const { return store_ ? store_->describe(key_) : path_; }

 private:
  friend struct location_access;

  std::string path_;
  std::optional<any_store> store_;
  store_key key_ = store_key::root();
};

struct location_access {
  /// Whether it was given as a path or URL, and not as a store.
  static bool is_path(const location& where) noexcept { return !where.store_.has_value(); }

  /// The checkpoint's own root as a store: what a reader needs.
  static result<stored_place> to_read(const location& where,
                                      const store_table& stores = default_stores::table()) {
    if (where.store_) return stored_place{*where.store_, where.key_};
    return stores.open(where.path_, {.write = false});
  }

  /// The parent as a store and the name in it: what a writer needs, since a checkpoint is built
  /// beside its target and renamed. A zip file is a store whose root is published.
  static result<stored_place> to_write(const location& where, bool sync = true,
                                       const store_table& stores = default_stores::table()) {
    if (where.store_) return stored_place{*where.store_, where.key_};
    return stores.open(where.path_, {.write = true, .sync = sync});
  }
};

}  // namespace zarrpoint::inline v0

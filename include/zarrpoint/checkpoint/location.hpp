// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/any_store.hpp>
#include <zarrpoint/store/file_store.hpp>
#include <zarrpoint/store/key.hpp>

#include <algorithm>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint::inline v0 {

/// Where a checkpoint is: a path in the file system, or a key of any store.
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

/// A store and a key in it.
struct stored_place {
  any_store store;
  store_key key;
};

struct location_access {
  /// The checkpoint's own root as a store: what a reader needs.
  static result<stored_place> to_read(const location& where) {
    if (where.store_) return stored_place{*where.store_, where.key_};
    ZARRPOINT_TRY(store, file_store::open(where.path_, {.read_only = true}));
    return stored_place{std::move(store), store_key::root()};
  }

  /// The parent as a store and the name in it: what a writer needs, since a checkpoint is built
  /// beside its target and renamed.
  static result<stored_place> to_write(const location& where) {
    if (where.store_) return stored_place{*where.store_, where.key_};
    std::string_view path = where.path_;
    while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    const std::size_t slash = path.rfind('/');
    const std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
    std::string parent(slash == path.npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1)));
    ZARRPOINT_TRY(key, store_key::parse(name));
    if (key.is_root())
      return error{errc::invalid_argument, "\"" + where.path_ + "\" names no checkpoint"};
    ZARRPOINT_TRY(store, file_store::open(parent, {}));
    return stored_place{std::move(store), std::move(key)};
  }
};

}  // namespace zarrpoint::inline v0

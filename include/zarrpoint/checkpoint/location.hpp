// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {
struct location_access;
}  // namespace detail

/// Where a checkpoint is. It is a path in the file system: a directory, or a file whose name ends
/// with ".zip". Or it is a URL of a scheme that the context's table of stores has, or a key of any
/// store.
class location {
 public:
  location(const char* path) : path_(path) {}             // NOLINT(google-explicit-constructor)
  location(std::string path) : path_(std::move(path)) {}  // NOLINT(google-explicit-constructor)
  location(std::string_view path) : path_(path) {}        // NOLINT(google-explicit-constructor)
  template <class S>
    requires(!std::same_as<S, location> && (std::same_as<S, any_store> || readable_store<S>))
  location(S store, store_key key = store_key::root())  // NOLINT(google-explicit-constructor)
      : store_(std::move(store)), key_(std::move(key)) {}
  template <class S>
    requires(!std::same_as<S, location> && !readable_store<S> && detail::half_store<S>)
  location(const S&) {  // NOLINT(google-explicit-constructor): it says what is missing
    detail::explain_store<S>();
  }

  /// What error messages call it.
  std::string name() const { return store_ ? store_->describe(key_) : path_; }

 private:
  friend struct detail::location_access;

  std::string path_;
  std::optional<any_store> store_;
  store_key key_ = store_key::root();
};

}}  // namespace zarrpoint::v0

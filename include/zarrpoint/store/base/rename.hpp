// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What no store can rename: its root, and a place to one that is the same or lies within it, or
/// around it. Errors: `invalid_argument`.
template <class Store>
result<void> check_rename(const Store& store, const store_key& from, const store_key& to) {
  const auto refuse = [&](const char* why) {
    return error{errc::invalid_argument,
                 "rename " + store.describe(from) + " to " + store.describe(to) + ": " + why};
  };
  if (from.is_root() || to.is_root()) return refuse("the root of a store cannot be renamed");
  if (from == to) return refuse("both names are the same");
  const auto lies_in = [](const store_key& inner, const store_key& outer) {
    return inner.str().starts_with(std::string(outer.str()) + '/');
  };
  if (lies_in(to, from) || lies_in(from, to)) return refuse("one lies within the other");
  return {};
}

}}}  // namespace zarrpoint::v0::detail

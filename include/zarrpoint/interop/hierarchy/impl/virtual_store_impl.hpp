// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/hierarchy/virtual_store.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE virtual_store::virtual_store(virtual_hierarchy tree, std::string name)
    : tree_(make_counted<const virtual_hierarchy>(std::move(tree))), name_(std::move(name)) {}

ZARRPOINT_INLINE result<std::unique_ptr<blob>> virtual_store::open(const store_key& key) const {
  return guarded([&] { return tree_->open(key, describe(key)); });
}

ZARRPOINT_INLINE std::string virtual_store::describe(const store_key& key) const {
  return key.is_root() ? name_ : name_ + ":" + std::string(key.str());
}

ZARRPOINT_INLINE result<std::vector<list_entry>> virtual_store::list(
    const store_key& prefix) const {
  return guarded([&] { return tree_->list(prefix); });
}

}}}  // namespace zarrpoint::v0::detail

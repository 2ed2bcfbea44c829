// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/checkpoint/document/stored_leaf.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What is said where `is_changed`, or of other attributes that are not those of the commit.
inline constexpr std::string_view changed_attributes =
    "the attributes are not those that were saved: another program edited them, or they are "
    "damaged; `zarrpoint seal` accepts them as they are";

/// What is in a hierarchy.
struct checkpoint_contents {
  std::string id;                   ///< of the commit; empty in hierarchies that others wrote
  node attributes;                  ///< of the root group, without our member
  std::vector<stored_leaf> leaves;  ///< sorted by name
  std::vector<std::string> groups;  ///< those that hold no array, sorted
  /// Of the groups below the root that have some, sorted, without our member. In hierarchies that
  /// others wrote they are not looked into, and may be something else than objects.
  node::object group_attributes{};
  /// Ours: the root's attributes, or the mark of its `.zgroup`, are not those that were saved.
  bool is_changed = false;
  int zarr_format = 3;      ///< of the root
  bool is_told = false;     ///< by consolidated metadata, which were not compared with anything
  bool is_sealed = false;   ///< ours: there is a checksum of the root's attributes
  std::string container{};  ///< the format that holds it, if that is not Zarr's own

  bool is_ours() const noexcept { return !id.empty(); }

  /// What it is called: the container, or "Zarr v3 checkpoint of zarrpoint", "Zarr v2 and v3
  /// hierarchy", "Zarr v2 array".
  std::string format() const;
};

/// The arrays of the hierarchy at the root of `store`: from our commit document; by listing, with
/// each node's own document; or from consolidated metadata, where the store is not cheap to list
/// and `by_listing` is not set. Errors: `not_found`, `corrupt`, `resource_limit`, `unsupported` (a
/// store that must be listed and cannot), `io`.
result<checkpoint_contents> read_contents(const any_store& store, const context& how,
                                          bool by_listing = false);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/document/impl/contents_impl.hpp>
#endif

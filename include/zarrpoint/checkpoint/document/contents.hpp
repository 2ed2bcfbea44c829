// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The document of an array: its `zarr.json` or `.zarray`. Leaves of one checkpoint share it where
/// they have the same, as most of a model do.
class stored_document {
 public:
  explicit stored_document(json content) : content_(std::move(content)) {}
  stored_document(const stored_document&) = delete;
  stored_document& operator=(const stored_document&) = delete;

  const json& content() const noexcept { return content_; }

  /// The array at `key` that has this document. `open(key)` makes the first, whose metadata and
  /// codecs the others share: all must be of one store and context. Thread-safe.
  template <class Open>
  result<array> array_at(const store_key& key, Open&& open) const {
    {
      const std::lock_guard lock(mutex_);
      if (first_) return first_->same_at(key);
    }
    ZARRPOINT_TRY(made, std::forward<Open>(open)(key));
    const std::lock_guard lock(mutex_);
    if (!first_) first_ = made;
    return std::move(made);
  }

 private:
  json content_;
  mutable std::mutex mutex_;
  mutable std::optional<array> first_;
};

/// One array of a hierarchy, its document not yet looked into: an array that this build cannot
/// read does not keep the others from being opened.
struct stored_leaf {
  /// Path below the root; empty when the root itself is the array. In hierarchies that others wrote
  /// it may not be a valid key (a backslash, 300 characters); opening that leaf is then an error.
  std::string name;
  std::string typestr;                              ///< empty in hierarchies that others wrote
  std::shared_ptr<const stored_document> document;  ///< never null
  int zarr_format = 3;
  chunk_digests objects{};  ///< of ours: every object, with its checksums
  json attributes{};        ///< the `.zattrs` of a v2 array
};

/// What is said where `is_changed`, or of other attributes that are not those of the commit.
inline constexpr std::string_view changed_attributes =
    "the attributes are not those that were saved: another program edited them, or they are "
    "damaged; `zarrpoint seal` accepts them as they are";

/// What is in a hierarchy.
struct checkpoint_contents {
  std::string id;                   ///< of the commit; empty in hierarchies that others wrote
  json attributes;                  ///< of the root group, without our member
  std::vector<stored_leaf> leaves;  ///< sorted by name
  std::vector<std::string> groups;  ///< those that hold no array, sorted
  /// Of the groups below the root that have some, sorted, without our member. In hierarchies that
  /// others wrote they are not looked into, and may be something else than objects.
  json::object group_attributes{};
  /// Ours: the root's attributes, or the mark of its `.zgroup`, are not those that were saved.
  bool is_changed = false;
  int zarr_format = 3;      ///< of the root
  bool is_told = false;     ///< by consolidated metadata, which were not compared with anything
  bool is_sealed = false;   ///< ours: there is a checksum of the root's attributes
  std::string container{};  ///< the format that holds it, if that is not Zarr's own
  const any_executor* executor = nullptr;  ///< see `stored_place::executor`

  bool is_ours() const noexcept { return !id.empty(); }

  /// What it is called: the container, or "Zarr v3 checkpoint of zarrpoint", "Zarr v2 and v3
  /// hierarchy", "Zarr v2 array".
  std::string format() const;
};

/// The arrays of the hierarchy at the root of `store`. They come from our commit document. Without
/// one they come by listing, with each node's own document, or from consolidated metadata, where
/// the store is not cheap to list and `by_listing` is not set. Errors: `not_found`, `corrupt`,
/// `resource_limit`, `unsupported` (a store that must be listed and cannot), `io`.
result<checkpoint_contents> read_contents(const any_store& store, const context& how,
                                          bool by_listing = false);

}}}  // namespace zarrpoint::v0::detail

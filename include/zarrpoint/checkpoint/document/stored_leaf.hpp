// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_class.hpp>
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/core/node.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The document of an array: its `zarr.json` or `.zarray`. Leaves of one checkpoint share it where
/// they have the same, as most of a model do.
class stored_document {
 public:
  explicit stored_document(node content) : content_(std::move(content)) {}
  stored_document(const stored_document&) = delete;
  stored_document& operator=(const stored_document&) = delete;

  const node& content() const noexcept { return content_; }

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
  node content_;
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
  node attributes{};        ///< the `.zattrs` of a v2 array
};

}}}  // namespace zarrpoint::v0::detail

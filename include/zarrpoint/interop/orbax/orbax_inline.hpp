// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/orbax/orbax_aggregate.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/store/base/listing.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

/// The texts and arrays that the file `checkpoint` holds itself, as objects of Zarr. They are made
/// when they are asked for: one byte of the file may be an array.
class inline_leaves {
 public:
  inline_leaves() = default;
  explicit inline_leaves(std::shared_ptr<const blob> file) : file_(std::move(file)) {}

  /// Adds a text or an array, whose name lies beneath no other's. Errors: `invalid_argument` for a
  /// name that leaves no room for the keys beneath it.
  result<void> add(std::string_view name, aggregate_leaf&& leaf);
  /// Call it once, after all.
  void finish();

  /// The object `key`, which messages call `called`, or as the file where it is a part of that;
  /// null for a key that is none of theirs.
  result<std::unique_ptr<blob>> open(std::string_view key, const std::string& called) const;
  std::vector<list_entry> list(const store_key& prefix) const;

 private:
  struct held {
    std::string prefix;                      ///< of its keys
    std::string text;                        ///< of a text; the elements of a scalar
    std::unique_ptr<aggregate_array> array;  ///< null for a text
  };

  static std::string chunk_of(const held& leaf);
  /// The first whose keys are all greater.
  std::vector<held>::const_iterator behind(std::string_view key) const;

  std::shared_ptr<const blob> file_;
  std::vector<held> leaves_;  ///< by their prefixes
};

}}}}  // namespace zarrpoint::v0::orbax::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/orbax/impl/orbax_inline_impl.hpp>
#endif

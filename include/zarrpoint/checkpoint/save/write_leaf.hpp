// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/save/stage_leaves.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>

#include <cstdint>
#include <optional>

// One planned leaf: encode and write.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A leaf with all that is decided before its data are touched.
struct planned_leaf {
  const leaf* value;
  const staged_leaf* early;  ///< null: it is read where it lives, when its turn comes
  array_metadata metadata;
  std::uint64_t bytes = 0;
  /// The key that the array gets, where that is not the name of the leaf.
  std::optional<store_key> key{};
};

/// Encode and write one leaf.
result<leaf_record> write_leaf(const any_store& store, const planned_leaf& planned,
                               const write_options& options, pin_times& pinned);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/save/impl/write_leaf_impl.hpp>
#endif

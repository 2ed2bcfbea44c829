// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/save/write_leaf.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include <cstdint>
#include <span>
#include <vector>

// All planned leaves of a save, whatever layout they are part of.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What one leaf took.
struct written_leaf {
  std::uint64_t stored_bytes = 0;  ///< of its objects
  double seconds = 0;              ///< from staging to the last write
};

/// What `write_leaves` did, by the index of the leaf.
struct written_leaves {
  std::vector<leaf_record> records;
  std::vector<written_leaf> leaves;
  double pin_seconds = 0;
};

/// Stages, encodes and writes leaves with their documents, several at a time; where memory does not
/// suffice for that, one after another. The context of `options` has scratch memory. Errors: that
/// of the first leaf that has one, naming it.
result<written_leaves> write_leaves(const any_store& store, std::span<const planned_leaf> planned,
                                    const write_options& options);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/save/impl/write_leaves_impl.hpp>
#endif

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/chunk_boxes.hpp>
#include <zarrpoint/core/error.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/zarr/chunks.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include <cstdint>
#include <string>

namespace zarrpoint { inline namespace v0 {

struct leaf_verification;
struct verify_report;
struct verify_options;

namespace detail {

/// Errors: `cancelled`.
result<void> not_stopped(const context& how);

/// Objects that have the keys of chunks in another chunk key encoding than that of the array.
struct other_keys {
  std::uint64_t count = 0;
  std::string first{};            ///< the key of one
  chunk_key_encoding encoding{};  ///< of that one

  /// Counts `key` if it is such a one. `objects` are those of the array.
  bool add(const array_metadata& metadata, const chunk_boxes& objects, const std::string& key);

  /// What is said of an array that has some: `has_chunks` tells whether it has chunks of its own.
  error what(const array_metadata& metadata, bool has_chunks) const;
};

/// Reads the chunks of one leaf, and tells in `leaf` what they are and in `to` what failed. Returns
/// how many objects and inner chunks are there and are not those of the commit. Errors:
/// `cancelled`.
result<std::uint64_t> verify_leaf(const array& from, leaf_verification& leaf, verify_report& to,
                                  const verify_options& options);

}  // namespace detail

}}  // namespace zarrpoint::v0

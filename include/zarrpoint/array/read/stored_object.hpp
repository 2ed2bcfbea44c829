// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/array/shard/shard_index.hpp>
#include <zarrpoint/array/shard/shard_index_cache.hpp>
#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Whether an object (null: it is missing) is the one that `digests` speak of, as far as can be
/// told without reading it. Errors: `corrupt`.
result<void> check_expected(const array_state& of, const chunk_digests& digests,
                            const std::string& key, const blob* object);

/// What is known of an object before it is opened.
struct object_options {
  const chunk_digests* expected = nullptr;
  shard_index_cache* indexes = nullptr;  ///< where a shard and its index may be kept; else
  bool keep = false;                     ///< whether the array itself keeps the index
};

/// One object of an array, open for reading: its bytes, and where each inner chunk lies in them.
struct stored_object {
  std::shared_ptr<const blob> bytes;
  std::shared_ptr<const shard_index> index;  ///< of a shard; else null

  shard_entry entry(std::size_t slot) const;

  /// Null when the store has no such object. A shard's index is read and checked. Given digests,
  /// one that does not fit them is refused before it is read.
  static result<std::unique_ptr<stored_object>> open(const array_state& of, const std::string& key,
                                                     codec_workspace& scratch,
                                                     const object_options& options = {});

 private:
  /// The index, which the array keeps from one read to the next.
  static result<std::shared_ptr<const shard_index>> kept_index(const array_state& of,
                                                               std::string_view key,
                                                               const blob& bytes,
                                                               codec_workspace& scratch);
  /// What the index may be kept by, or nothing.
  static result<std::optional<shard_index_cache::index_version>> version_of(
      const blob& bytes, const shard_parts& shard);
  static result<std::shared_ptr<const shard_index>> read_index(const blob& bytes,
                                                               const array_layout& layout,
                                                               codec_workspace& scratch);
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/array/read/impl/stored_object_impl.hpp>
#endif

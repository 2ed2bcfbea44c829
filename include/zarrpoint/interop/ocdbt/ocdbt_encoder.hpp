// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/ocdbt/ocdbt_records.hpp>

#include <span>

// The records of an OCDBT database, from values to bytes.

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A key and its value, to be written into a leaf.
struct ocdbt_leaf_entry {
  std::string_view key;  ///< whole
  bytes_view value;      ///< if it lies in the leaf
  const ocdbt_file* file = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

/// A node that was written, to be told to its parent.
struct ocdbt_child {
  std::string key;         ///< whole, not greater than its first
  std::size_t shared = 0;  ///< how much of the key its own keys leave out
  ocdbt_file file;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  ocdbt_statistics below;
};

// The bodies of records, which `close_ocdbt_envelope` completes. Keys are written without the first
// `left_out` bytes, which all have in common. Errors: `corrupt` for a path or a key that is longer
// than the format has it.

result<std::vector<std::byte>> encode_ocdbt_leaf(std::span<const ocdbt_leaf_entry> entries,
                                                 std::size_t left_out);

/// A node of this height, which is at least 1.
result<std::vector<std::byte>> encode_ocdbt_parent(std::span<const ocdbt_child> entries,
                                                   std::uint8_t height, std::size_t left_out);

/// A manifest; one that is numbered is written as what one of its numbers holds.
result<std::vector<std::byte>> encode_ocdbt_manifest(const ocdbt_manifest& manifest);

/// A node of the version tree, of height 0 if it has `versions`.
result<std::vector<std::byte>> encode_ocdbt_versions(const ocdbt_versions& versions,
                                                     std::uint8_t arity_log2, std::uint8_t height);

/// How many bytes the texts have in common at their beginning.
std::size_t common_prefix(std::string_view a, std::string_view b);

}}}  // namespace zarrpoint::v0::detail

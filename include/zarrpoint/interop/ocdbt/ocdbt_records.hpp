// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

// The records of an OCDBT database, as bytes (TensorStore, "OCDBT database format").

inline constexpr std::uint32_t ocdbt_manifest_mark = 0x0cdb3a2a;
inline constexpr std::uint32_t ocdbt_versions_mark = 0x0cdb1234;
inline constexpr std::uint32_t ocdbt_node_mark = 0x0cdb20de;

/// The offset and the length of what is nowhere: the tree of a database without keys.
inline constexpr std::uint64_t ocdbt_nowhere = ~std::uint64_t{0};

/// A data file: beneath the base paths that led to the record which names it.
struct ocdbt_file {
  std::string base;  ///< of all that the file refers to, too; ends with "/", or is empty
  std::string name;

  friend bool operator==(const ocdbt_file&, const ocdbt_file&) = default;
};

/// Bytes of a data file, which is one of a table.
struct ocdbt_location {
  std::size_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

/// What lies beneath a node.
struct ocdbt_statistics {
  std::uint64_t keys = 0;
  std::uint64_t tree_bytes = 0;   ///< of its nodes and itself, as they are stored
  std::uint64_t value_bytes = 0;  ///< of the values that do not lie in the nodes

  friend bool operator==(const ocdbt_statistics&, const ocdbt_statistics&) = default;
};

/// One version of the database: where the root of its tree is, and what it holds.
struct ocdbt_root {
  std::uint64_t generation = 0;
  std::uint64_t commit_time = 0;  ///< ns since 1970
  ocdbt_statistics below;
  ocdbt_location node;
  std::uint8_t height = 0;

  /// False: the database has no keys.
  bool is_somewhere() const { return node.offset != ocdbt_nowhere || node.length != ocdbt_nowhere; }
};

/// A node of the version tree, by what a parent says of it.
struct ocdbt_version_child {
  std::uint64_t generation = 0;   ///< its last
  std::uint64_t generations = 0;  ///< how many it has
  std::uint64_t commit_time = 0;  ///< its first
  ocdbt_location node;
  std::uint8_t height = 0;
};

/// A manifest, or a node of the version tree: of height 0 it has `versions`, else `children`.
struct ocdbt_versions {
  std::vector<ocdbt_file> files;
  std::vector<ocdbt_version_child> children;  ///< older than `versions`; the oldest first
  std::vector<ocdbt_root> versions;           ///< the oldest first
};

/// How a database is written.
struct ocdbt_configuration {
  std::array<std::byte, 16> identity{};  ///< random
  bool is_numbered = false;              ///< the versions are in files `manifest.<16 hex digits>`
  std::uint32_t inline_bytes = 0;        ///< larger values do not lie in nodes
  std::uint32_t node_bytes = 0;          ///< nodes of more, decompressed, are split; 0: none
  std::uint8_t arity_log2 = 0;           ///< of the version tree
  std::optional<std::int32_t> zstd_level{};
};

/// What a manifest says of the database.
struct ocdbt_manifest {
  ocdbt_configuration configuration;
  ocdbt_versions versions;
};

/// A node of the tree of keys. The keys lie behind each other in one text, which they share.
struct ocdbt_node {
  static constexpr std::uint32_t in_json = ~std::uint32_t{0};

  struct entry {
    std::uint64_t key_at = 0;
    std::uint32_t key_size = 0;
    std::uint32_t shared = 0;      ///< of a child: how much of the key its own keys leave out
    std::uint32_t file = in_json;  ///< `in_json`: the value is in `body`
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };

  std::uint8_t height = 0;
  std::vector<ocdbt_file> files;
  std::string keys;
  std::vector<entry> entries;           ///< sorted by key; at least one
  std::vector<ocdbt_statistics> below;  ///< of the entries, if they are children
  std::vector<std::byte> body;          ///< of a leaf

  std::string_view key(const entry& of) const {
    return std::string_view(keys).substr(static_cast<std::size_t>(of.key_at), of.key_size);
  }
  /// The first entry whose key is not less than `text`, or the number of entries.
  std::size_t lower_bound(std::string_view text) const;
  /// The memory that it takes.
  std::uint64_t bytes() const;
};

// Errors of all: `corrupt`; `unsupported` for a later version of the format; `resource_limit` for
// what takes more than `limit` bytes, before it is allocated.

result<ocdbt_manifest> read_ocdbt_manifest(bytes_view stored, std::uint64_t limit);

/// A node of the version tree of this height.
result<ocdbt_versions> read_ocdbt_versions(bytes_view stored, std::uint8_t height,
                                           std::uint64_t limit);

/// A node of the tree of keys of this height.
result<ocdbt_node> read_ocdbt_node(bytes_view stored, std::uint8_t height, std::uint64_t limit);

/// The body of a manifest or a node, decompressed, whose checksum is right. Errors: `corrupt`;
/// `unsupported` for a later version of the format; `resource_limit` for more than `limit` bytes.
result<std::vector<std::byte>> open_ocdbt_envelope(bytes_view stored, std::uint32_t mark,
                                                   std::uint64_t limit);

/// The record of such a body, compressed if there is a level. Errors: `resource_limit`.
result<std::vector<std::byte>> close_ocdbt_envelope(bytes_view body, std::uint32_t mark,
                                                    std::optional<std::int32_t> zstd_level);

}  // namespace detail

/// One version of an OCDBT database.
struct ocdbt_version {
  std::uint64_t generation = 0;   ///< counts up from 1
  std::uint64_t commit_time = 0;  ///< when it was written, in nanoseconds since 1970
  std::uint64_t keys = 0;         ///< how many it has
  std::uint64_t tree_bytes = 0;   ///< what its nodes take in data files
  std::uint64_t value_bytes = 0;  ///< what its values take there, without those within nodes

  friend bool operator==(const ocdbt_version&, const ocdbt_version&) = default;
};

/// Which version of an OCDBT database is read, and with how much memory.
struct ocdbt_options {
  std::optional<std::uint64_t> generation{};  ///< this version; the newest otherwise
  /// The newest version that is not younger, in nanoseconds since 1970.
  std::optional<std::uint64_t> commit_time{};
  /// The largest node or manifest, decompressed; one takes some five times as much memory at
  /// most. Orbax writes nodes of up to 100 MB.
  std::uint64_t node_bytes = std::uint64_t{256} << 20;
  /// What the kept nodes may take beside the root and the one that was read last.
  std::uint64_t cache_bytes = std::uint64_t{64} << 20;

  /// The same version, with what fits a budget such as `limits::memory`: a node may have an eighth
  /// of it, decompressed, and the kept ones a quarter. They have never more than these options.
  ocdbt_options within(std::uint64_t memory) const noexcept;
};

/// How an OCDBT database is laid out: as Orbax does it. A database that exists keeps its own
/// configuration, and all but `data_file_bytes` is for new ones.
struct ocdbt_write_options {
  /// A data file that has so many bytes gets no further value; 0 for no limit. A value is never
  /// split.
  std::uint64_t data_file_bytes = std::uint64_t{2} << 30;
  std::uint32_t node_bytes = 100'000'000;  ///< nodes of more, decompressed, are split
  std::uint32_t inline_bytes = 1024;       ///< larger values lie in data files; at most 1 MiB
  std::optional<int> zstd_level = 0;       ///< of nodes and the manifest; nothing: as they are
  /// Of how many versions, as a power of 2, the manifest tells itself: 1 to 16.
  std::uint8_t version_arity_log2 = 4;
};

}}  // namespace zarrpoint::v0

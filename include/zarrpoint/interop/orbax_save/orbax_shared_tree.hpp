// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/interop/orbax_save/orbax_item.hpp>

#include <cstddef>

// One tree of what many processes have: arithmetic and texts, without an element.

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

/// The leaves of one process as a message.
std::vector<std::byte> encode_leaves(std::span<const described_leaf> leaves);

/// `format::rich_types` as bytes, which are the same for the same.
std::vector<std::byte> encode_containers(const std::optional<std::vector<tree_container>>& all);

/// Errors: `corrupt`.
result<std::vector<described_leaf>> decode_leaves(bytes_view message);

/// A leaf that a process writes.
struct shared_part {
  std::size_t place = 0;  ///< among the leaves of the process
  std::size_t leaf = 0;   ///< in `shared_tree::leaves`
  box at{};               ///< of that leaf

  friend bool operator==(const shared_part&, const shared_part&) = default;
};

/// The tree of all processes.
struct shared_tree {
  std::vector<described_leaf> leaves;  ///< each leaf once, whole
  std::vector<leaf_cuts> cuts;         ///< of each
  /// Of each process the arrays of which it writes what it has, in its own order.
  std::vector<std::vector<shared_part>> parts;
};

/// Joins what the processes have, by rank. Of a box that several have, the one writes it that has
/// the fewest bytes to write, and a number the lowest rank. Errors: `invalid_argument`, naming
/// leaves and ranks, for holes and overlaps, and where processes do not agree on a leaf.
result<shared_tree> share_tree(std::span<const std::vector<described_leaf>> all);

}}}}  // namespace zarrpoint::v0::orbax::detail

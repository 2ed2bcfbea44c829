// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/node.hpp>

#include <cstdint>
#include <optional>

namespace zarrpoint { inline namespace v0 {

/// What a metadata document describes.
enum class node_kind : std::uint8_t { group, array };

/// The documents of the nodes below a group, by path relative to it (`layers/0/w`).
using consolidated_documents = node::object;

/// What the document of a group says.
struct group_metadata {
  int zarr_format = 3;
  /// An object, or null for none.
  node attributes{};
  /// Inline consolidated metadata (v3): every node below, in the order of the document.
  std::optional<consolidated_documents> consolidated{};

  friend bool operator==(const group_metadata&, const group_metadata&) = default;
};

}}  // namespace zarrpoint::v0

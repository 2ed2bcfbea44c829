// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// How the coordinates of a chunk become its key below the array (Zarr v3 core, "Chunk key
/// encoding"): `c/0/1` or `c.0.1` by default, `0.1` or `0/1` in the way of Zarr v2.
struct chunk_key_encoding {
  enum class style : std::uint8_t {
    default_,  ///< `c`, then the coordinates; `c` alone for rank 0
    v2,        ///< the coordinates; `0` for rank 0
  };

  style kind = style::default_;
  char separator = '/';

  /// The key of the chunk at `index`, relative to the array.
  std::string key(const dims& index) const;

  /// The position that `key` is the key of, if it is one for `rank` axes.
  std::optional<dims> parse(std::string_view key, std::size_t rank) const;

  friend bool operator==(const chunk_key_encoding&, const chunk_key_encoding&) = default;
};

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/zarr/impl/chunk_key_impl.hpp>
#endif

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/dims.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace zarrpoint::inline v0 {

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
  std::string key(const dims& index) const {
    std::string out(kind == style::default_ ? 1 : 0, 'c');
    for (std::size_t i = 0; i < index.rank(); ++i) {
      if (i != 0 || kind == style::default_) out += separator;
      out += std::to_string(index[i]);
    }
    if (out.empty()) out += '0';
    return out;
  }

  /// The position that `key` is the key of, if it is one for `rank` axes.
  std::optional<dims> parse(std::string_view key, std::size_t rank) const {
    dims out;
    std::string_view rest = key;
    if (kind == style::default_) {
      if (!rest.starts_with('c')) return std::nullopt;
      rest.remove_prefix(1);
    }
    for (std::size_t i = 0; i < rank; ++i) {
      if (i != 0 || kind == style::default_) {
        if (!rest.starts_with(separator)) return std::nullopt;
        rest.remove_prefix(1);
      }
      index_t at = -1;
      const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), at);
      if (status != std::errc() || at < 0) return std::nullopt;
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
      out.push_back(at);
    }
    // No other spelling of the same numbers.
    if (this->key(out) != key) return std::nullopt;
    return out;
  }

  friend bool operator==(const chunk_key_encoding&, const chunk_key_encoding&) = default;
};

}  // namespace zarrpoint::inline v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/zarr/chunk_key.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE std::string chunk_key_encoding::key(const dims& index) const {
  std::string out(kind == style::default_ ? 1 : 0, 'c');
  for (std::size_t i = 0; i < index.rank(); ++i) {
    if (i != 0 || kind == style::default_) out += separator;
    out += std::to_string(index[i]);
  }
  if (out.empty()) out += '0';
  return out;
}

ZARRPOINT_INLINE std::optional<dims> chunk_key_encoding::parse(std::string_view key,
                                                               std::size_t rank) const {
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

}}  // namespace zarrpoint::v0

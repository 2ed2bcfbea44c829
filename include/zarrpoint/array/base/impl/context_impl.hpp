// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/codec/lists/default_codecs.hpp>
#include <zarrpoint/core/checked.hpp>
#include <zarrpoint/store/registry.hpp>
#include <zarrpoint/zarr/json/json_limits.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE codec_table default_codec_table() { return default_codecs::table(); }
ZARRPOINT_INLINE store_table default_store_table() {
  static constexpr path_rules rules{nullptr, &name_format};
  return store_table(default_stores::entries, &rules);
}

ZARRPOINT_INLINE json_limits document_limits(const limits& limit) noexcept {
  constexpr std::size_t small = std::size_t{16} << 10;
  // What nobody asks for keeps no array from being read.
  json_limits out{.max_bytes = limit.metadata_bytes, .keep_text = true};
  if (limit.memory == SIZE_MAX) return out;
  out.max_nodes = out.node_limit();
  out.max_bytes = std::min<std::size_t>(out.max_bytes, document_bytes_within(limit.memory));
  out.max_memory = 8 * small + limit.memory / 4 * 3;
  return out;
}

}}}  // namespace zarrpoint::v0::detail

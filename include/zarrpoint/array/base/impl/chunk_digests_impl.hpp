// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/chunk_digests.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE const object_digest* chunk_digests::find(std::string_view key) const {
  const auto at = objects_.find(key);
  return at == objects_.end() ? nullptr : &at->second;
}

ZARRPOINT_INLINE void chunk_digests::set(std::string key, object_digest digest) {
  objects_.insert_or_assign(std::move(key), std::move(digest));
}

ZARRPOINT_INLINE void chunk_digests::merge(const chunk_digests& other) {
  for (const auto& [key, digest] : other.objects_) set(key, digest);
}

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/read/shard_indexes.hpp>
#include <zarrpoint/array/shard/shard_index_cache.hpp>

#include <atomic>
#include <cstddef>
#include <memory>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE shard_indexes::~shard_indexes() { delete get(); }

ZARRPOINT_INLINE shard_index_cache& shard_indexes::make(std::size_t budget) {
  if (shard_index_cache* const found = get()) return *found;
  // More than the shards that may be open; of very many a new one would take long to be put in.
  auto made = std::make_unique<shard_index_cache>(shard_index_cache::share_of(budget), 4096);
  shard_index_cache* other = nullptr;
  if (!cache_.compare_exchange_strong(other, made.get(), std::memory_order_acq_rel)) return *other;
  return *made.release();
}

}}}  // namespace zarrpoint::v0::detail

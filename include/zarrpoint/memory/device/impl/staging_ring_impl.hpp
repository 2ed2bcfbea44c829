// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/device/device_space.hpp>
#include <zarrpoint/memory/device/spare_objects.hpp>
#include <zarrpoint/memory/device/staging_ring.hpp>
#include <zarrpoint/memory/device/stream_guard.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE ring_options ring_within(std::size_t share, memory_resource& resource) {
  constexpr std::size_t least = std::size_t{64} << 10;
  constexpr std::size_t few = 4;
  ring_options out{.resource = &resource};
  out.slot_bytes = std::clamp(share / few / least * least, least, out.slot_bytes);
  out.slots = std::clamp<std::size_t>(share / out.slot_bytes, 1, out.slots);
  return out;
}

ZARRPOINT_INLINE ring_options ring_budget::add_ring(memory_resource& resource) {
  const std::lock_guard lock(mutex_);
  ring_options out = ring_within(left_, resource);
  out.put_by = std::min(out.slot_bytes, left_);
  left_ -= out.put_by;
  return out;
}

ZARRPOINT_INLINE bool ring_budget::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > left_) return false;
  left_ -= bytes;
  return true;
}

ZARRPOINT_INLINE void ring_budget::give_back(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  left_ += bytes;
}

}}}  // namespace zarrpoint::v0::detail

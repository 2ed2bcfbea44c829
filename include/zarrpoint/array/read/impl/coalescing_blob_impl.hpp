// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/read/coalescing_blob.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_numbers.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/resource.hpp>
#include <zarrpoint/store/base/blob.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE coalescing_blob::coalescing_blob(std::shared_ptr<const blob> base,
                                                  std::vector<byte_range> ranges,
                                                  memory_resource& from)
    : base_(std::move(base)), resource_(from) {
  std::vector<numbered_place> order;
  order.reserve(ranges.size());
  for (const byte_range& one : ranges) order.push_back({one.offset, order.size()});
  sort_numbers(order);
  for (const numbered_place& next : order) {
    const byte_range& one = ranges[next.place];
    if (!runs_.empty()) {
      run& last = *runs_.back();
      const std::uint64_t end = last.offset + last.size;
      if (one.offset <= end + max_gap && one.offset + one.size <= last.offset + max_run) {
        last.size = std::max(end, one.offset + one.size) - last.offset;
        ++last.wanted;
        continue;
      }
    }
    runs_.push_back(std::make_unique<run>());
    runs_.back()->offset = one.offset;
    runs_.back()->size = one.size;
    runs_.back()->wanted = 1;
  }
}

ZARRPOINT_INLINE result<void> coalescing_blob::read(std::uint64_t offset,
                                                    mutable_bytes into) const {
  run* const found = find(offset, into.size());
  if (found == nullptr) return base_->read(offset, into);
  const std::lock_guard lock(found->mutex);
  if (found->memory.empty()) {
    // One alone goes straight to its place, and so does what is asked for a second time.
    if (found->wanted <= 1) return base_->read(offset, into);
    result<buffer> made = buffer::allocate(static_cast<std::size_t>(found->size), resource_);
    if (!made) return base_->read(offset, into);
    ZARRPOINT_CHECK(base_->read(found->offset, made->bytes()));
    found->memory = *std::move(made);
  }
  std::copy_n(found->memory.data() + (offset - found->offset), into.size(), into.data());
  if (--found->wanted == 0) found->memory = {};
  return {};
}

ZARRPOINT_INLINE coalescing_blob::run* coalescing_blob::find(std::uint64_t offset,
                                                             std::uint64_t bytes) const {
  auto after = std::upper_bound(
      runs_.begin(), runs_.end(), offset,
      [](std::uint64_t at, const std::unique_ptr<run>& one) { return at < one->offset; });
  if (after == runs_.begin()) return nullptr;
  run* const found = (--after)->get();
  return offset - found->offset + bytes <= found->size ? found : nullptr;
}

}}}  // namespace zarrpoint::v0::detail

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/base/scratch_tensor.hpp>
#include <zarrpoint/array/grid/plan.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/read/stored_object.hpp>
#include <zarrpoint/array/write/chunk_encoder.hpp>
#include <zarrpoint/codec/base/chain.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE chunk_encoder::chunk_encoder(const array_state& of, dtype from,
                                              const write_options& options, scratch_pool& pool)
    : of_(of), from_(from), options_(options), pool_(pool), spec_(chain().chunk_spec()) {}

ZARRPOINT_INLINE std::size_t chunk_encoder::cost(const plan_item& item) const {
  const std::size_t decoded = byte_count(spec_.shape, memory_size(spec_.type)).value_or(0);
  const bool in_place = !is_cast() && is_whole(item) && item.within.shape == spec_.shape;
  const std::uint64_t encoded = chain().encoded_bound();
  if (in_place && chain().is_raw()) return 0;
  return (in_place ? 0 : decoded) + (encoded == UINT64_MAX ? decoded : std::size_t{encoded});
}

ZARRPOINT_INLINE result<encoded_chunk> chunk_encoder::encode(const plan_item& item,
                                                             const host_view& from,
                                                             const stored_object* before) const {
  encoded_chunk out;
  out.slot = of_.layout.slot(item.inner);
  out.scratch = pool_.borrow();
  const shard_entry stored = before != nullptr ? before->entry(out.slot) : shard_entry{};
  if (box::whole(item.within.shape).empty()) {
    if (stored.absent()) return out;
    ZARRPOINT_TRY(bytes, load(*before->bytes, stored, *out.scratch));
    return done(std::move(out), bytes);
  }
  const bool whole = is_whole(item);
  if (whole && !is_cast()) {
    if (options_.elide_fill && all_equal(from, of_.fill())) return out;
    if (from.shape == spec_.shape) {
      ZARRPOINT_TRY(bytes, chain().encode(from, *out.scratch));
      return done(std::move(out), bytes);
    }
  }
  ZARRPOINT_TRY(chunk, scratch_tensor::make(spec_, *out.scratch, decoded_slot));
  if (whole || stored.absent()) {
    ZARRPOINT_CHECK(fill_within_budget(chunk.view(), of_.fill(), *out.scratch));
  } else {
    ZARRPOINT_TRY(bytes, load(*before->bytes, stored, *out.scratch));
    ZARRPOINT_CHECK(chain().decode(bytes, chunk.view(), *out.scratch));
  }
  const mutable_host_view part = subview(chunk.view(), item.within);
  if (is_cast()) {
    ZARRPOINT_CHECK(cast_elements(part, from));
  } else {
    copy_elements(part, from);
  }
  if ((!whole || is_cast()) && options_.elide_fill) {
    const dims valid = of_.valid_shape(item.first_element);
    const auto inside = subview(chunk.view(), box::whole(valid));
    if (all_equal(as_const(inside), of_.fill())) return out;
  }
  ZARRPOINT_TRY(bytes, chain().encode(as_const(chunk.view()), *out.scratch));
  return done(std::move(out), bytes);
}

ZARRPOINT_INLINE bool chunk_encoder::is_whole(const plan_item& item) const {
  if (item.within.shape != of_.valid_shape(item.first_element)) return false;
  for (std::size_t d = 0; d < item.within.rank(); ++d) {
    if (item.within.shape[d] > 1 && item.within.step[d] != 1) return false;
  }
  return true;
}

ZARRPOINT_INLINE result<bytes_view> chunk_encoder::load(const blob& from, const shard_entry& entry,
                                                        codec_workspace& scratch) const {
  ZARRPOINT_CHECK(check_stored_size(chain(), entry.size));
  ZARRPOINT_TRY(bytes, scratch.scratch(stored_slot, entry.size));
  ZARRPOINT_CHECK(from.read(entry.offset, bytes));
  return bytes_view(bytes);
}

ZARRPOINT_INLINE encoded_chunk chunk_encoder::done(encoded_chunk out, bytes_view bytes) const {
  out.absent = false;
  out.bytes = bytes;
  if (options_.collected != nullptr) out.digest = payload_digest(chain(), bytes);
  return out;
}

}}}  // namespace zarrpoint::v0::detail

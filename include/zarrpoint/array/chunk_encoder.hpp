// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_state.hpp>
#include <zarrpoint/array/options.hpp>
#include <zarrpoint/array/plan.hpp>
#include <zarrpoint/array/scratch_pool.hpp>
#include <zarrpoint/array/scratch_tensor.hpp>
#include <zarrpoint/array/stored_object.hpp>
#include <zarrpoint/codec/chain.hpp>
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

namespace zarrpoint::inline v0::detail {

/// An inner chunk as it will be stored, and the scratch memory that its bytes may lie in.
struct encoded_chunk {
  bool absent = true;
  std::size_t slot = 0;  ///< its entry in the index
  bytes_view bytes{};
  std::optional<std::uint32_t> digest{};
  scratch_pool::lease scratch{};
  std::shared_ptr<const void> kept{};  ///< or memory of a source, when they are the elements there
};

/// Turns the elements of a write into stored inner chunks. Immutable and shared by the workers.
class chunk_encoder {
 public:
  /// `from`: the type of the elements that are written.
  chunk_encoder(const array_state& of, dtype from, const write_options& options, scratch_pool& pool)
      : of_(of), from_(from), options_(options), pool_(pool), spec_(chain().chunk_spec()) {}

  dtype source_type() const noexcept { return from_; }

  /// The scratch bytes that an inner chunk takes; an estimate for strings.
  std::size_t cost(const plan_item& item) const {
    const std::size_t decoded = byte_count(spec_.shape, memory_size(spec_.type)).value_or(0);
    const bool in_place = !is_cast() && is_whole(item) && item.within.shape == spec_.shape;
    const std::uint64_t encoded = chain().encoded_bound();
    if (in_place && chain().is_raw()) return 0;
    return (in_place ? 0 : decoded) + (encoded == UINT64_MAX ? decoded : std::size_t{encoded});
  }

  /// Encodes the inner chunk of `item`, with the elements of its destination `from`; what the write
  /// does not touch comes from `before`, the object that is replaced, or is the fill value when
  /// there is none.
  result<encoded_chunk> encode(const plan_item& item, const host_view& from,
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

 private:
  const codec_chain& chain() const noexcept { return of_.layout.chain(); }

  bool is_cast() const noexcept { return from_ != spec_.type; }

  /// Whether the write covers all elements of the inner chunk that lie within the array.
  bool is_whole(const plan_item& item) const {
    if (item.within.shape != of_.valid_shape(item.first_element)) return false;
    for (std::size_t d = 0; d < item.within.rank(); ++d) {
      if (item.within.shape[d] > 1 && item.within.step[d] != 1) return false;
    }
    return true;
  }

  result<bytes_view> load(const blob& from, const shard_entry& entry,
                          codec_workspace& scratch) const {
    ZARRPOINT_CHECK(check_stored_size(chain(), entry.size));
    ZARRPOINT_TRY(bytes, scratch.scratch(stored_slot, entry.size));
    ZARRPOINT_CHECK(from.read(entry.offset, bytes));
    return bytes_view(bytes);
  }

  encoded_chunk done(encoded_chunk out, bytes_view bytes) const {
    out.absent = false;
    out.bytes = bytes;
    if (options_.collected != nullptr) out.digest = payload_digest(chain(), bytes);
    return out;
  }

  const array_state& of_;
  const dtype from_;
  const write_options& options_;
  scratch_pool& pool_;
  const tensor_spec spec_;
};

}  // namespace zarrpoint::inline v0::detail

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/grid/plan.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/read/stored_object.hpp>
#include <zarrpoint/codec/base/chain.hpp>
#include <zarrpoint/memory/cast.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// An inner chunk as it will be stored, and the scratch memory that its bytes may lie in.
struct encoded_chunk {
  bool absent = true;
  std::size_t slot = 0;  ///< its entry in the index
  bytes_view bytes{};
  bool bytes_stay = false;  ///< they are the elements that the caller of the write has
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
  std::size_t cost(const plan_item& item) const;

  /// Encodes the inner chunk of `item`, with the elements of its destination `from`. What the write
  /// does not touch comes from `before`, the object that is replaced, or is the fill value when
  /// there is none.
  result<encoded_chunk> encode(const plan_item& item, const host_view& from,
                               const stored_object* before) const;
  /// The same of one that is encoded already; no bytes: it is not stored.
  encoded_chunk encoded(const plan_item& item, bytes_view bytes) const;

 private:
  const codec_chain& chain() const noexcept { return of_.layout.chain(); }

  bool is_cast() const noexcept { return from_ != spec_.type; }

  /// Whether the write covers all elements of the inner chunk that lie within the array.
  bool is_whole(const plan_item& item) const;

  result<bytes_view> load(const blob& from, const shard_entry& entry,
                          codec_workspace& scratch) const;

  encoded_chunk done(encoded_chunk out, bytes_view bytes) const;

  const array_state& of_;
  const dtype from_;
  const write_options& options_;
  scratch_pool& pool_;
  const tensor_spec spec_;
};

}}}  // namespace zarrpoint::v0::detail

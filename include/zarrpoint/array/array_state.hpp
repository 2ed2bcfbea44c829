// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/context.hpp>
#include <zarrpoint/array/layout.hpp>
#include <zarrpoint/array/scratch_pool.hpp>
#include <zarrpoint/codec/chain.hpp>
#include <zarrpoint/codec/crc32c.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/store/any_store.hpp>
#include <zarrpoint/store/key.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace zarrpoint::inline v0::detail {

/// What arrays of the same metadata may share.
struct array_description {
  array_metadata metadata;
  array_layout layout;
  context how;
};

/// What the handles of one array share.
struct array_state {
  array_state(any_store in, store_key at, std::shared_ptr<const array_description> what)
      : store(std::move(in)), key(std::move(at)), described(std::move(what)) {}
  array_state(any_store in, store_key at, array_metadata of, array_layout by, context with)
      : array_state(std::move(in), std::move(at),
                    std::make_shared<const array_description>(
                        array_description{std::move(of), std::move(by), std::move(with)})) {}

  any_store store;
  store_key key;
  std::shared_ptr<const array_description> described;
  const array_metadata& metadata = described->metadata;
  const array_layout& layout = described->layout;
  const context& how = described->how;
  /// The key of the only chunk, when this is one chunk of another array; else empty.
  std::string only_key{};

  /// The key of a chunk, relative to the array.
  std::string chunk_key(const dims& index) const {
    return only_key.empty() ? metadata.keys.key(index) : only_key;
  }
  /// The fill value as `fill_elements` takes it.
  bytes_view fill() const noexcept { return metadata.fill_element(); }
  bool sharded() const noexcept { return layout.shard() != nullptr; }

  /// `"inner chunk [3, 0]"`, as errors name it.
  std::string inner_name(const dims& inner) const {
    return "inner chunk " + to_string(layout.index_coordinates(inner));
  }
  /// Where an inner chunk ends within the array: what lies beyond is padding.
  dims valid_shape(const dims& first_element) const {
    dims out = layout.grid().inner_shape;
    for (std::size_t i = 0; i < out.rank(); ++i)
      out[i] = std::min(out[i], metadata.shape[i] - first_element[i]);
    return out;
  }
};

/// The scratch memory of an operation: the context's, or one of its own.
inline std::shared_ptr<scratch_pool> scratch_of(const context& how) {
  return how.scratch != nullptr ? how.scratch
                                : std::make_shared<scratch_pool>(how.limit, resource_of(how));
}

/// A context for what one worker does, among others that `how` runs; all share one scratch memory.
inline context of_one_worker(const context& how) {
  context out = how;
  out.executor = {};
  out.progress = {};
  out.scratch = scratch_of(how);
  return out;
}

/// Operations on fewer bytes are done by the calling thread alone: waking another costs as much.
inline constexpr std::size_t parallel_threshold = std::size_t{256} << 10;

/// The digest of the stored bytes of an inner chunk: see `object_digest`.
inline std::uint32_t payload_digest(const codec_chain& chain, bytes_view stored) {
  constexpr std::size_t trailer = sizeof(std::uint32_t);
  if (!chain.ends_with_crc32c() || stored.size() < trailer) return crc32c(stored);
  return load_le<std::uint32_t>(stored.data() + (stored.size() - trailer));
}

/// Whether a chunk or inner chunk may be stored in `size` bytes, before memory is taken for them.
/// Errors: `corrupt`.
inline result<void> check_stored_size(const codec_chain& chain, std::uint64_t size) {
  const bool exact = chain.fixed_size();
  if (exact ? size == chain.encoded_bound() : size <= chain.stored_limit()) return {};
  return error{errc::corrupt,
               std::to_string(size) + " stored bytes where " + to_string(chain.chunk_spec()) +
                   (exact ? " takes " : " takes at most ") +
                   std::to_string(exact ? chain.encoded_bound() : chain.stored_limit())};
}

/// The slots of a workspace that the array layer uses.
enum scratch_slot : std::size_t { stored_slot, decoded_slot };

}  // namespace zarrpoint::inline v0::detail

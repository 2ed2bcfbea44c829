// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/shard/layout.hpp>
#include <zarrpoint/codec/base/chain.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/memory/element_source.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE array_state::array_state(any_store in, store_key at,
                                          std::shared_ptr<const array_description> what)
    : store(std::move(in)), key(std::move(at)), described(std::move(what)) {}

ZARRPOINT_INLINE array_state::array_state(any_store in, store_key at, array_metadata of,
                                          array_layout by, context with)
    : array_state(std::move(in), std::move(at),
                  detail::make_counted<const array_description>(
                      array_description{std::move(of), std::move(by), std::move(with)})) {}

ZARRPOINT_INLINE std::string array_state::chunk_key(const dims& index) const {
  return only_key.empty() ? metadata.keys.key(index) : only_key;
}

ZARRPOINT_INLINE std::string array_state::inner_name(const dims& inner) const {
  return "inner chunk " + to_string(layout.index_coordinates(inner));
}

ZARRPOINT_INLINE dims array_state::valid_shape(const dims& first_element) const {
  dims out = layout.grid().inner_shape;
  for (std::size_t i = 0; i < out.rank(); ++i)
    out[i] = std::min(out[i], metadata.shape[i] - first_element[i]);
  return out;
}

ZARRPOINT_INLINE std::shared_ptr<scratch_pool> scratch_of(const context& how) {
  return how.scratch != nullptr ? how.scratch
                                : detail::make_counted<scratch_pool>(how.limit, resource_of(how));
}

ZARRPOINT_INLINE context of_one_worker(const context& how) {
  context out = how;
  out.executor = {};
  out.progress = {};
  out.scratch = scratch_of(how);
  return out;
}

ZARRPOINT_INLINE std::uint32_t payload_digest(const codec_chain& chain, bytes_view stored) {
  constexpr std::size_t trailer = sizeof(std::uint32_t);
  if (!chain.ends_with_crc32c() || stored.size() < trailer) return crc32c(stored);
  return load_le<std::uint32_t>(stored.data() + (stored.size() - trailer));
}

ZARRPOINT_INLINE result<void> check_stored_size(const codec_chain& chain, std::uint64_t size) {
  const bool exact = chain.fixed_size();
  if (exact ? size == chain.encoded_bound() : size <= chain.stored_limit()) return {};
  return error{errc::corrupt,
               std::to_string(size) + " bytes are stored for a chunk of " +
                   to_string(chain.chunk_spec()) +
                   (exact ? ", which takes " : ", which takes at most ") +
                   std::to_string(exact ? chain.encoded_bound() : chain.stored_limit())};
}

ZARRPOINT_INLINE result<void> check_chunk_count(std::uint64_t count, const limits& limit) {
  if (count <= limit.max_chunks) return {};
  return error{errc::resource_limit, "the selection meets " + std::to_string(count) +
                                         " chunks, more than the limit of " +
                                         std::to_string(limit.max_chunks)};
}

}}}  // namespace zarrpoint::v0::detail

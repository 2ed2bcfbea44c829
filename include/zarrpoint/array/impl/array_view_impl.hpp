// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_class.hpp>
#include <zarrpoint/array/base/chunk_digests.hpp>
#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/raw_object.hpp>
#include <zarrpoint/array/read/array_state.hpp>
#include <zarrpoint/array/read/read_operation.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/exec/progress_meter.hpp>
#include <zarrpoint/memory/element_source.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

inline result<void> verify_mapped(const context& how, const raw_run& run, bytes_view stored) {
  const auto size = static_cast<std::size_t>(run.block_bytes);
  return parallel_for(
      how.executor, run.crc32c.size(),
      [&](std::size_t i) { return run.check(i, crc32c(stored.subspan(i * size, size))); },
      {.stop = how.stop});
}

/// The lone object of an array, mapped; nothing where the layout or the store does not allow it.
inline result<std::optional<mapped_view>> map_array(const array_state& of, const context& how,
                                                    const read_options& options) {
  const tensor_spec spec = of.metadata.spec();
  if (box::whole(spec.shape).empty() && of.metadata.edges.empty() && of.layout.chain().is_raw() &&
      of.layout.is_row_major())
    return mapped_view{dense_view(static_cast<const std::byte*>(nullptr), spec), {}};
  const chunk_grid& grid = of.layout.grid();
  for (std::size_t d = 0; d < spec.shape.rank(); ++d) {
    if (grid.object_shape[d] < spec.shape[d]) return std::optional<mapped_view>();
  }
  ZARRPOINT_TRY(found, find_raw(of, dims(spec.shape.rank(), 0), how, options));
  if (!found || found->runs.size() != 1) return std::optional<mapped_view>();
  const raw_run& run = found->runs.front();
  result<mapping> mapped = found->object->map();
  if (!mapped) {
    if (mapped.failure().code == errc::unsupported) return std::optional<mapped_view>();
    return std::move(mapped).failure();
  }
  const std::uint64_t size = run.block_bytes * run.blocks;
  if (mapped->bytes().size() < run.offset + size)
    return error{errc::corrupt, "chunk " + found->key + ": it has changed since it was opened"};
  const bytes_view bytes =
      mapped->bytes().subspan(static_cast<std::size_t>(run.offset), static_cast<std::size_t>(size));
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % spec.type.scalar_size() != 0)
    return std::optional<mapped_view>();
  mapped_view out{dense_view(bytes.data(), spec), *std::move(mapped)};
  ZARRPOINT_CHECK(verify_mapped(how, run, bytes).at("chunk " + found->key));
  return std::optional<mapped_view>(std::move(out));
}

}  // namespace detail

ZARRPOINT_INLINE result<std::optional<mapped_view>> array::view(const read_options& options) const {
  return guarded([&]() -> result<std::optional<mapped_view>> {
    const context& how = options.how != nullptr ? *options.how : state_->how;
    return explained(
        detail::at_array(detail::map_array(*state_, how, with_digests(options)), *state_));
  });
}

ZARRPOINT_INLINE result<std::optional<raw_object>> array::raw(const dims& object,
                                                              const read_options& options) const {
  return guarded([&]() -> result<std::optional<raw_object>> {
    const context& how = options.how != nullptr ? *options.how : state_->how;
    return explained(
        detail::at_array(detail::find_raw(*state_, object, how, with_digests(options)), *state_));
  });
}

}}  // namespace zarrpoint::v0

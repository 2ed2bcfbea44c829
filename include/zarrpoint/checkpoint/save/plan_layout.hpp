// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/zarr/metadata.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// What an inner chunk holds unless the caller says otherwise. It is big enough that a codec or a
/// read is worth its call, and small enough to stay in a core's L2 cache between two passes.
inline constexpr std::uint64_t default_chunk_bytes = std::uint64_t{1} << 20;

/// The largest divisor of `n` that is at most `limit` (1 when there is no other).
constexpr index_t largest_divisor(index_t n, index_t limit) noexcept {
  index_t best = 1;
  for (index_t d = 1; d <= n / d; ++d) {
    if (n % d != 0) continue;
    if (d <= limit) best = std::max(best, d);
    if (n / d <= limit) best = std::max(best, n / d);
  }
  return best;
}

/// The inner chunk of a tensor. It is a run of about `target` bytes that is contiguous in row-major
/// order, so that uncompressed inner chunks laid one after another are the tensor itself. The
/// leading axis is cut first, and need not divide evenly (only the last chunk is padded then). A
/// later axis is cut only into equal parts, since padding there would tear the run apart. The spec
/// must have passed `byte_count`.
dims contiguous_chunk_shape(const tensor_spec& spec, std::uint64_t target = default_chunk_bytes);

/// The chunk of a tensor in Zarr v2, where each chunk is an object of its own. It is all of it up
/// to 64 MiB. A larger one has equal runs of at most that where there are such. So several workers
/// have something to do, and none needs scratch memory of the size of the tensor.
dims whole_chunk_shape(const tensor_spec& spec);

/// Orbax's rule for `chunk_byte_size`: starting from `write_shape`, an axis goes to the next
/// smaller divisor of its write extent until the chunk has at most `target` bytes. The axes that
/// are already cut (`write_shape` below `global_shape`) come first, then all. Each time it is the
/// longest, the first of equals. Errors: `invalid_argument` when `target` is below one element or
/// the ranks differ.
result<dims> greedy_chunk_shape(const tensor_spec& global, const dims& write_shape,
                                std::uint64_t target);

/// How one leaf will be stored.
struct planned_layout {
  array_metadata metadata;
  std::vector<std::string> warnings;  ///< options that have no effect, in sentences
};

/// What the rules say about the storage of a leaf; null where they say nothing.
struct layout_rules {
  const dims* chunk_shape = nullptr;
  const dims* shard_shape = nullptr;
  const std::uint64_t* chunk_byte_size = nullptr;
  const std::vector<codec_spec>* codecs = nullptr;

  /// Those of one list of rules that are equal say the same.
  friend bool operator==(const layout_rules&, const layout_rules&) = default;
};
layout_rules layout_rules_of(std::string_view name, const save_options& options);

/// `shape` rounded up to whole chunks, at least one along every axis.
result<dims> whole_chunks(const dims& shape, const dims& chunk);

/// Plans the storage of a leaf of `spec`: Zarr v3 with inner chunks of about 1 MiB in one shard a
/// leaf, or what the rules say. Pure: reads and writes nothing.
///
/// Between the options (Orbax's rules): `shard_shape` is a multiple of `chunk_shape` in every
/// dimension; `chunk_byte_size` is ignored, with a warning, beside `chunk_shape`; none of the three
/// goes with Zarr v2. It follows from `rules`, `spec` and the format alone. Errors:
/// `invalid_argument`.
result<planned_layout> plan_layout(const layout_rules& rules, const tensor_spec& spec,
                                   int zarr_format);
/// The same by the rules for a name.
result<planned_layout> plan_layout(std::string_view name, const tensor_spec& spec,
                                   const save_options& options);

/// The layout of that name among layouts that are sorted by name; null for none.
const leaf_layout* layout_of(std::span<const leaf_layout> sorted, std::string_view name);

/// The storage of a leaf of `spec` that is stored as another array is, without attributes. Errors:
/// `invalid_argument`.
result<array_metadata> copied_layout(const leaf_layout& given, const tensor_spec& spec,
                                     int zarr_format);

}}}  // namespace zarrpoint::v0::detail

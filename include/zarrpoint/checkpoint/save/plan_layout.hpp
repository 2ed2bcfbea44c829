// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/checkpoint/save/chunk_shape.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

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

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/save/impl/plan_layout_impl.hpp>
#endif

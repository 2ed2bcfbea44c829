// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/checkpoint/save/chunk_shape.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// How one leaf will be stored.
struct planned_layout {
  array_metadata metadata;
  std::vector<std::string> warnings;  ///< options that have no effect, in sentences
};

/// `shape` rounded up to whole chunks, at least one along every axis.
result<dims> whole_chunks(const dims& shape, const dims& chunk);

/// Plans the storage of a leaf of `spec`: Zarr v3 with inner chunks of about 1 MiB in one shard a
/// leaf, or what the rules say. Pure: reads and writes nothing.
///
/// Between the options (Orbax's rules): `shard_shape` is a multiple of `chunk_shape` in every
/// dimension; `chunk_byte_size` is ignored, with a warning, beside `chunk_shape`; none of the three
/// goes with Zarr v2. Errors: `invalid_argument`.
result<planned_layout> plan_layout(std::string_view name, const tensor_spec& spec,
                                   const save_options& options);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/save/impl/plan_layout_impl.hpp>
#endif

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/zarr/array_metadata.hpp>

#include <optional>
#include <string_view>
#include <vector>

// The chunks of arrays, by what devices and processes have of them and what rules say. `unit` is
// that of `leaf_cuts`.

namespace zarrpoint { inline namespace v0 { namespace orbax { namespace detail {

/// The chunk of an array of Zarr v2, by the rules that `plan_layout` has for v3 only.
result<dims> chunk_of_v2(std::string_view name, const tensor_spec& spec, const dims* local,
                         const std::vector<leaf_rule>& rules);

/// What a chunk is at most: what a device had, if that is known, and of that what no process shares
/// with another.
std::optional<dims> largest_chunk(const std::optional<dims>& of_device, const dims& unit,
                                  const dims& shape);

/// A part of `spec`, of at most 64 MiB unless all parts are small, which is one object of Zarr v2.
/// Along an axis that `unit` cuts it is an equal part.
dims part_of_v2(const tensor_spec& spec, const dims& unit);

/// Whether no chunk has elements of two boxes, which two processes may write.
result<void> check_units(const dims& chunk, const dims& unit);

/// Whether the largest box, of so many elements, is very many small objects.
bool are_many_small(const array_metadata& of, index_t largest);

}}}}  // namespace zarrpoint::v0::orbax::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/orbax_save/impl/orbax_chunks_impl.hpp>
#endif

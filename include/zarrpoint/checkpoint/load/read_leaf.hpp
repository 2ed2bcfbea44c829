// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/options.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <string_view>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// Zero everywhere, or the empty string.
void fill_with_zero(const mutable_host_view& view);

/// Reads the leaf into `into`. Its shape may differ from the stored one (same rank): what is beyond
/// is left out, what is missing is zero. Its dtype may differ where `options.cast` is set.
result<void> read_to_host(const array& from, const mutable_host_view& into,
                          const read_options& options);

/// What a stored shape and a wanted one of the same rank have in common.
dims common_shape(const dims& stored, dims wanted);

/// The first `extents` of `view`.
template <memory_space Space>
mutable_tensor_view<Space> leading_part(mutable_tensor_view<Space> view, const dims& extents) {
  view.shape = extents;
  return view;
}

/// Devices: defined in checkpoint/load/device_read_leaf.hpp.
template <class Space>
result<void> read_to_device(const array& from, const mutable_tensor_view<Space>& into,
                            const read_options& options);

template <memory_space Space>
result<void> read_to_space(const array& from, const mutable_tensor_view<Space>& into,
                           const read_options& options) {
  if constexpr (Space::host_accessible) {
    ZARRPOINT_CHECK(into.space.wait(into.ready));
    return read_to_host(from, {into.data, into.type, into.shape, into.strides, {}, {}}, options);
  } else {
    return read_to_device(from, into, options);
  }
}

}  // namespace detail

// What a load makes of what is stored: the dtype and the shape that its options ask for.

class array;

namespace detail {

struct stored_leaf;

/// The stored spec, but for the dtype and the shape that rules ask for. Errors: `shape_mismatch`
/// for another rank, `unsupported` for a dtype that the stored one is not cast to.
result<tensor_spec> wanted_spec(const array& source, std::string_view name,
                                const load_options& options);

/// The same with elements of `type`; an invalid one takes the stored type.
result<tensor_spec> wanted_as(dtype type, const stored_leaf& leaf, const array& source,
                              const load_options& options);

/// The spec of a part, with the dtype that rules ask for.
result<tensor_spec> wanted_part(const stored_leaf& leaf, const array& source, const selection& part,
                                const load_options& options);

/// Refuses another dtype, unless a cast is asked for. Errors: `dtype_mismatch`; `unsupported` where
/// there is no such cast.
result<void> check_type(dtype stored, dtype wanted, const load_options& options);

}  // namespace detail

}}  // namespace zarrpoint::v0

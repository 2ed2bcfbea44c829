// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>

#include <string_view>

// What a load makes of what is stored: the dtype and the shape that its options ask for.

namespace zarrpoint { inline namespace v0 {

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

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/load/impl/wanted_spec_impl.hpp>
#endif

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array_class.hpp>
#include <zarrpoint/array/array_state.hpp>
#include <zarrpoint/core/config.hpp>

#include <optional>

namespace zarrpoint::inline v0::detail {

/// The elements of an inner chunk, without their place in the object; none beyond the edge.
raw_run run_of(const array_state& of, const dims& object, const dims& inner);

/// See `array::raw`.
result<std::optional<raw_object>> find_raw(const array_state& of, const dims& object,
                                           const context& how, const read_options& options);

}  // namespace zarrpoint::inline v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/array/raw_object_impl.hpp>
#endif

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/read/array_state.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The elements of an inner chunk, without their place in the object; none beyond the edge.
raw_run run_of(const array_state& of, const dims& object, const dims& inner);

/// See `array::raw`.
result<std::optional<raw_object>> find_raw(const array_state& of, const dims& object,
                                           const context& how, const read_options& options);

}}}  // namespace zarrpoint::v0::detail

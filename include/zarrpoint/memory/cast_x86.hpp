// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/types/dtype.hpp>

#include <cstddef>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Casts the first elements of a dense run, and tells how many: all but 15 at most. The bits are
/// those of `convert`, of NaNs too.
using dense_cast = std::size_t (*)(std::byte* to, const std::byte* from,
                                   std::size_t count) noexcept;

/// Outputs from this size on do not go by way of the caches, which they would not fit into with
/// their source.
inline constexpr std::size_t streamed_cast_bytes = std::size_t{1} << 20;

/// The vector code for a pair of dtypes: between float32 and the floats of 16 bits, for CPUs with
/// AVX2 and F16C. Null where there is none.
dense_cast choose_dense_cast(const dtype& to, const dtype& from) noexcept;

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/memory/impl/cast_x86_impl.hpp>
#endif

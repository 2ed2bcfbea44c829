// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Whether two tensors are of one dtype and shape and have the same bits: a NaN equals itself, and
/// 0 differs from -0. Strides do not count; strings are compared as text.
bool same_bits(const host_view& a, const host_view& b);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/shard/impl/same_bits_impl.hpp>
#endif

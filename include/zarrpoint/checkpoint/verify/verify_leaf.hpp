// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>

#include <cstdint>

namespace zarrpoint { inline namespace v0 {

struct leaf_verification;
struct verify_report;
struct verify_options;

namespace detail {

/// Errors: `cancelled`.
result<void> not_stopped(const context& how);

/// Reads the chunks of one leaf, and tells in `leaf` what they are and in `to` what failed. Returns
/// how many objects and inner chunks are there and are not those of the commit. Errors:
/// `cancelled`.
result<std::uint64_t> verify_leaf(const array& from, leaf_verification& leaf, verify_report& to,
                                  const verify_options& options);

}  // namespace detail

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/checkpoint/verify/impl/verify_leaf_impl.hpp>
#endif

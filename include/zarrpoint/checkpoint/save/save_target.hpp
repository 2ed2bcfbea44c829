// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include <chrono>

// What of ours lies in a store, and how long a save took.

namespace zarrpoint { inline namespace v0 { namespace detail {

double seconds_since(std::chrono::steady_clock::time_point start);

/// Whether a root document holds a commit document of ours, even one that `open` would refuse.
/// `is_attributes`: it is `.zattrs`, which has nothing but the attributes.
bool holds_commit(const json& document, bool is_attributes);

/// The same of the root of a store.
result<bool> holds_commit(const any_store& root, const limits& limit);

}}}  // namespace zarrpoint::v0::detail

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/schemes.hpp>

#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// The directory in which rank 0 publishes `target`, for the other processes that write there, too.
/// `name` is the `publication::staged_name` that it told. Errors: `corrupt` for what does not name
/// a directory beside the target; those of `file_store::open`.
result<any_store> open_staged(const stored_place& target, const std::string& name, bool sync);

}}}  // namespace zarrpoint::v0::detail

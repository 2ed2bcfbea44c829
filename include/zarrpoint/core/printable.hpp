// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Text from a file, fit for an error message: control characters and bytes that are not UTF-8
/// become `?`, and what goes beyond `max_bytes` becomes `...`.
std::string printable(std::string_view text, std::size_t max_bytes);

/// A name from a file in quotation marks, for an error message.
std::string in_quotes(std::string_view name);

}}}  // namespace zarrpoint::v0::detail

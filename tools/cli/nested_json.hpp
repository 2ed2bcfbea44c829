// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>

#include "slice.hpp"
#include "source.hpp"

#include <cstddef>
#include <functional>
#include <string_view>

namespace cli {

/// A part of an array as nested JSON lists, block by block; `write` gets the text in pieces.
/// Errors: those of reading and of `write`; `resource_limit` for more than a million empty lists.
zp::result<void> write_nested_json(const source& from, std::size_t index, const slice& part,
                                   const std::function<zp::result<void>(std::string_view)>& write);

}  // namespace cli

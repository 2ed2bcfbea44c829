// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What of a conversion becomes a value of Python where the target is PyTorch's.

#include <zarrpoint/handler/types/blob.hpp>

#include "conversion.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace cli {

/// Numbers of Python, text, values as JSON has them, and bytes.
using python_value = std::variant<bool, std::int64_t, std::uint64_t, double, std::string,
                                  zp::json_text, zp::byte_string>;

/// The value that an array becomes: of text, JSON and bytes, and of a number that was saved as one.
/// Nothing for tensors. Errors: those of `text_of`, which texts of more than `most_text` bytes
/// meet, and of reading.
zp::result<std::optional<python_value>> python_value_of(const conversion& what,
                                                        const converted& each,
                                                        std::uint64_t most_text);

}  // namespace cli

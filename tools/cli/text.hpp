// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Text for people: names from files made harmless, numbers made short.

#include <zarrpoint/core/box.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cli {

namespace zp = zarrpoint;

/// Text from a file, fit for a terminal: control characters, those that turn the direction of
/// writing, bytes that are not UTF-8 and (where `backslash` is set) backslashes become escapes.
std::string escaped(std::string_view text, bool backslash = true);

/// How many columns `text` takes: code points, those of East Asian width twice.
std::size_t columns(std::string_view text);

/// `text` and spaces up to `width` columns, before it when `right` is set.
std::string padded(std::string_view text, std::size_t width, bool right = false);

/// `text` in at most `width` columns: what is too long ends in an ellipsis.
std::string cut_to(std::string_view text, std::size_t width);

/// `"512 B"`, `"1.2 KiB"`, `"3.4 MiB"`.
std::string byte_text(std::uint64_t bytes);

/// A number of bytes as people write it: `"300"`, `"64K"`, `"1.5GiB"`. False if it is none.
bool parse_bytes(std::string_view text, std::uint64_t& bytes);

/// `value` with that many digits behind the point.
std::string fixed(double value, int digits);
/// The fewest digits that read back as the same double.
std::string shortest(double value);

/// `"[3, 4]"` without the blanks: `"[3,4]"`.
std::string shape_text(const zp::dims& shape);

std::string repeated(std::string_view text, std::size_t count);

}  // namespace cli

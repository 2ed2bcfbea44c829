// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elements as text.

#include <zarrpoint/core/types/dtype.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace cli {

namespace zp = zarrpoint;

/// Appends the element at `at` for people: `0.5`, `nan`, `1+2j`, `true`, `"text"` with escapes.
void append_plain(std::string& out, const std::byte* at, const zp::dtype& type);

/// Appends it as a JSON value. What JSON cannot say as a number is a string, spelled as in Zarr's
/// fill values: `"NaN"`, `"Infinity"`, `"-Infinity"`, `"NaT"`; a complex number is a list of two, a
/// time the count of its units, a record an object, raw bytes are hexadecimal digits.
void append_json(std::string& out, const std::byte* at, const zp::dtype& type);

/// Appends a JSON string; bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace cli

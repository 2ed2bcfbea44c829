// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Elements as text.

#include <zarrpoint/core/types/dtype.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cli {

namespace zp = zarrpoint;

/// What the vectors of an array of bytes hold, as the codec `vlen-array` says.
struct vector_items {
  zp::dtype type;
  bool swapped = false;  ///< in the other byte order

  /// Of a NumPy typestr, `"<f4"` or `"float32"`; nothing for what is none of numbers.
  static std::optional<vector_items> parse(std::string_view text);
};

/// The type of an element, and of the numbers in it where it is a vector of such.
struct element_type {
  zp::dtype type;
  std::optional<vector_items> items{};
};

/// Appends the element at `at` for people: `0.5`, `nan`, `1+2j`, `true`, `"text"` with escapes,
/// `[1, 2]` for a vector.
void append_plain(std::string& out, const std::byte* at, const element_type& type);

/// Appends it as a JSON value. What JSON cannot say as a number is a string, spelled as in Zarr's
/// fill values: `"NaN"`, `"Infinity"`, `"-Infinity"`, `"NaT"`. A complex number is a list of two, a
/// time the count of its units, a record an object, raw bytes are hexadecimal digits. Bytes of any
/// length are `{"base64": "AAE="}`, as is text that is not UTF-8. Text with code points that
/// Unicode does not have is `{"code_points": [55296]}`. A record with fields of such names is
/// `{"record": {"base64": 1}}`; a vector is a list.
void append_json(std::string& out, const std::byte* at, const element_type& type);

/// Whether the elements are texts, or bytes, of any length.
constexpr bool is_of_texts(const zp::dtype& type) {
  return type.is_variable() || type.kind() == zp::dtype_kind::fixed_length_utf32;
}

/// The text of an element of `fixed_length_utf32`; nothing for code points that Unicode has not.
std::optional<std::string> utf32_text(const std::byte* at, std::size_t size);

/// Appends a JSON string; bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace cli

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/record.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// What an array holds where nothing was written: one element, bit for bit.
class fill_value {
 public:
  /// Zero, `false`, the empty string; of a record, of each field.
  static fill_value zero(const dtype& type);
  /// The `null` of Zarr v2: not defined. It reads as zero.
  static fill_value undefined(const dtype& type);
  /// From one element of a fixed size, in native byte order.
  static fill_value of_bytes(bytes_view element);
  template <element T>
  static fill_value of(const T& value) {
    return of_bytes(std::as_bytes(std::span<const T, 1>(&value, 1)));
  }
  /// The element of an array of strings, or of bytes of variable length.
  static fill_value of_text(std::string text);

  bool is_null() const noexcept { return null_; }
  /// The element in native byte order; empty for elements of variable length.
  bytes_view bytes() const noexcept { return as_bytes(std::string_view(bytes_)); }
  /// The element of an array of variable length.
  const std::string& text() const noexcept { return text_; }

  friend bool operator==(const fill_value&, const fill_value&) = default;

 private:
  std::string bytes_;
  std::string text_;
  bool null_ = true;
};

namespace detail {

/// The `fill_value` member of an array of `type` (Zarr v3 data types, "Fill value"; v2.0 "Fill
/// value encoding"). Integers are exact. Floats are a number, "NaN", "Infinity", "-Infinity" or, in
/// v3, the hex digits of the bits ("0x7fc00001"), complex numbers two of those. The others are
/// times as an integer or "NaT", text as it is, bytes as base64 or a list of integers, records as
/// an object of fields. Null is refused in v3 and undefined in v2. Errors: `corrupt`.
result<fill_value> parse_fill_value(const json& value, const dtype& type, int zarr_format);

/// The `fill_value` member for `fill`: what `parse_fill_value` reads back bit for bit. An
/// undefined one is null in v2 and zero in v3, which has no null. Errors: `invalid_argument` when
/// it is not of `type`, `unsupported` for what Zarr v2 cannot say (a NaN with a payload).
result<json> fill_value_to_json(const fill_value& fill, const dtype& type, int zarr_format);

// The fill values of numbers, as the bits of one and as JSON (Zarr v3 data types, "Fill value";
// v2.0 "Fill value encoding").

/// A date or a span of time: its count of units, or "NaT".
result<std::uint64_t> parse_time_fill(const json& value);

/// Writes the element that `value` says to `to`, in native byte order.
result<void> parse_number_fill(const json& value, const dtype& type, int zarr_format,
                               std::byte* to);

result<json> number_fill_to_json(const std::byte* from, const dtype& type, int zarr_format);

}  // namespace detail

}}  // namespace zarrpoint::v0

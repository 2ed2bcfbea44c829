// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/record.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The name of a unit of time as NumPy writes it: `"us"`; `"generic"` for none.
constexpr std::string_view to_string(time_unit unit) noexcept {
  constexpr std::array<std::string_view, 14> names = {
      "generic", "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"};
  return names[static_cast<std::size_t>(unit)];
}

namespace detail {

/// The unit of a name as in metadata, `"ns"`; none for another text.
constexpr std::optional<time_unit> parse_time_unit(std::string_view name) noexcept {
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(time_unit::as); ++i) {
    if (to_string(static_cast<time_unit>(i)) == name) return static_cast<time_unit>(i);
  }
  if (name == "\u03bcs" || name == "\u00b5s") return time_unit::us;
  return std::nullopt;
}

/// The largest element that is read: a fill value of that size is made for each array.
inline constexpr std::size_t max_element_size = std::size_t{16} << 20;

result<dtype> checked_element(dtype type);

/// The `data_type` of a v3 array (Zarr v3 core, "Data types", and the registry of extensions), in
/// any of the spellings that writers use: `"float32"`, `"r48"`, `{"name": "raw_bytes",
/// "configuration": {"length_bytes": 6}}`, `structured` with pairs. Errors: `corrupt`;
/// `unsupported`, naming it.
result<dtype> parse_data_type_v3(const json& value);

/// The `data_type` of a v3 array in the spelling that the most readers know. Errors: `unsupported`
/// for a record whose field is an array, which v3 has no form for.
result<json> data_type_to_json(const dtype& type);

}  // namespace detail

}}  // namespace zarrpoint::v0

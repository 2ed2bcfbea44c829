// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/codec/kit/vlen.hpp>
#include <zarrpoint/codec/numcodecs/vlen_array.hpp>
#include <zarrpoint/core/printable.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// The bytes of an item of a NumPy type of numbers, `<f4` or `float32`.
ZARRPOINT_INLINE std::optional<std::size_t> numpy_item_size(std::string_view text) {
  if (const auto named = parse_dtype(text); named && named->is_number()) return named->size();
  if (text.starts_with('<') || text.starts_with('>') || text.starts_with('|'))
    text.remove_prefix(1);
  if (text.size() != 2 && text.size() != 3) return std::nullopt;
  const std::pair<char, std::string_view> sizes[] = {
      {'b', "1"}, {'i', "1248"}, {'u', "1248"}, {'f', "248"}, {'c', "8"}};
  for (const auto& [kind, digits] : sizes) {
    if (text[0] != kind) continue;
    if (text.size() == 2 && digits.find(text[1]) != std::string_view::npos)
      return static_cast<std::size_t>(text[1] - '0');
    if (kind == 'c' && text == "c16") return 16;
  }
  return std::nullopt;
}

}  // namespace detail

ZARRPOINT_INLINE result<vlen_array_codec> vlen_array_codec::from_configuration(
    const node& configuration) {
  ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {"dtype"}));
  ZARRPOINT_TRY(text, reader.text("dtype"));
  if (!text) return error{errc::invalid_argument, "\"dtype\" is missing"};
  const std::optional<std::size_t> size = detail::numpy_item_size(*text);
  if (!size) return error{errc::unsupported, "cannot hold vectors of " + detail::in_quotes(*text)};
  vlen_array_codec out;
  out.type = *text;
  out.item_size = *size;
  return out;
}

ZARRPOINT_INLINE const char* vlen_array_codec::check(std::string_view bytes) const {
  return bytes.size() % item_size == 0 ? nullptr : "a vector is not a whole number of items";
}

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/sharding.hpp>
#include <zarrpoint/core/dtype.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint::inline v0::detail {

/// Declares bytes of the other order than this machine's to be of its own. False when they are not
/// such bytes, or when a codec before that works on the values of elements.
template <class = void>
bool declare_native(std::vector<codec_spec>& codecs) {
  constexpr bool is_little = native_endian == endian::little;
  for (codec_spec& one : codecs) {
    if (one.name == "transpose") continue;
    if (one.name == sharding_config::name) {
      auto config = sharding_config::from_configuration(one.configuration);
      if (!config || !declare_native(config->codecs)) return false;
      auto spec = config->to_spec();
      if (!spec) return false;
      one = *std::move(spec);
      return true;
    }
    if (one.name != "bytes") return false;
    const node* const order = one.configuration.find("endian");
    if (order == nullptr || order->if_string() == nullptr ||
        *order->if_string() != (is_little ? "big" : "little") ||
        one.configuration.find("field_endian") != nullptr)
      return false;
    one.configuration.set("endian", is_little ? "little" : "big");
    return true;
  }
  return false;
}

/// The array, read as if its numbers were stored in this machine's byte order: each part of an
/// element then has its bytes reversed, those of the fill value, too. Nothing for arrays that are
/// stored so, and where more than the bytes themselves depends on the order.
template <class = void>
std::optional<array> in_flipped_order(const array& of) {
  const dtype& type = of.spec().type;
  const std::size_t size = type.scalar_size();
  array_metadata metadata = of.metadata();
  if (!type.is_number() || size < 2 || !declare_native(metadata.codecs)) return std::nullopt;
  const bytes_view fill = metadata.fill_element();
  std::vector<std::byte> reversed(fill.begin(), fill.end());
  for (std::size_t i = 0; i + size <= reversed.size(); i += size)
    std::reverse(reversed.data() + i, reversed.data() + i + size);
  metadata.fill = fill_value::of_bytes(reversed);
  auto out = array::from_metadata(of.store(), of.key(), std::move(metadata), of.default_context());
  if (!out) return std::nullopt;
  return *std::move(out);
}

}  // namespace zarrpoint::inline v0::detail

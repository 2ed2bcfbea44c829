// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/array/device/flipped_order.hpp>
#include <zarrpoint/array/shard/sharding.hpp>
#include <zarrpoint/core/types/dtype.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// Whether the configuration of a codec `bytes` is that of the byte order that is not this
/// machine's.
ZARRPOINT_INLINE bool is_other_order(const node& configuration) {
  const node* const order = configuration.find("endian");
  const std::string* const text = order == nullptr ? nullptr : order->if_string();
  return text != nullptr && *text == (native_endian == endian::little ? "big" : "little") &&
         configuration.find("field_endian") == nullptr;
}

ZARRPOINT_INLINE std::optional<bool> makes_other_order(std::string_view name,
                                                       const node& configuration) {
  if (name == "transpose") return std::nullopt;
  if (name != sharding_config::name) return name == "bytes" && is_other_order(configuration);
  const node* const codecs = configuration.find("codecs");
  if (codecs == nullptr || codecs->if_array() == nullptr) return false;
  for (const node& codec : *codecs->if_array()) {
    const node* const inner = codec.find("name");
    const node* const members = codec.find("configuration");
    if (inner == nullptr || inner->if_string() == nullptr || members == nullptr) return false;
    if (const auto told = makes_other_order(*inner->if_string(), *members)) return told;
  }
  return false;
}

ZARRPOINT_INLINE bool declare_native(std::vector<codec_spec>& codecs) {
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
    if (one.name != "bytes" || !is_other_order(one.configuration)) return false;
    one.configuration.set("endian", native_endian == endian::little ? "little" : "big");
    return true;
  }
  return false;
}

ZARRPOINT_INLINE bool has_flipped_order(const array& of) {
  const dtype& type = of.spec().type;
  if (!type.is_number() || type.scalar_size() < 2) return false;
  for (const codec_spec& one : of.metadata().codecs) {
    if (const auto told = makes_other_order(one.name, one.configuration)) return *told;
  }
  return false;
}

ZARRPOINT_INLINE std::optional<array> in_flipped_order(const array& of) {
  if (!has_flipped_order(of)) return std::nullopt;
  const std::size_t size = of.spec().type.scalar_size();
  array_metadata metadata = of.metadata();
  if (!declare_native(metadata.codecs)) return std::nullopt;
  const bytes_view fill = metadata.fill_element();
  std::vector<std::byte> reversed(fill.begin(), fill.end());
  for (std::size_t i = 0; i + size <= reversed.size(); i += size)
    std::reverse(reversed.data() + i, reversed.data() + i + size);
  metadata.fill = fill_value::of_bytes(reversed);
  auto out = array::from_metadata(of.store(), of.key(), std::move(metadata), of.default_context());
  if (!out) return std::nullopt;
  return *std::move(out);
}

}}}  // namespace zarrpoint::v0::detail

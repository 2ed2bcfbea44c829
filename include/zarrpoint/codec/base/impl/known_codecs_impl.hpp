// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/known_codecs.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE std::string about_codec(std::string_view name) {
  constexpr std::string_view prefix = "numcodecs.";
  const bool is_prefixed = name.starts_with(prefix);
  if (is_prefixed) name.remove_prefix(prefix.size());
  for (const known_codec& one : known_codecs) {
    if (name != one.name) continue;
    // No header has a codec of that name.
    if (!is_prefixed && one.spelling == v3_spelling::prefixed)
      return std::string(" (in Zarr v3 its name is \"numcodecs.").append(name) + "\")";
    const codec_door_note& door = codec_doors[static_cast<std::size_t>(one.door)];
    return std::string(" (include <zarrpoint/").append(door.header) + "> and use " + door.codecs +
           ")";
  }
  for (const codec_refusal& one : refused_codecs) {
    const bool is_prefix =
        one.name.ends_with('.') || one.name.ends_with('_') || one.name.ends_with(':');
    if (is_prefix ? name.starts_with(one.name) : name == one.name)
      return std::string(" (not in this library: ").append(one.reason) + ")";
  }
  return " (not in this library; a codec of your own is added by default_codecs::with<C>)";
}

}}}  // namespace zarrpoint::v0::detail

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/known_codecs.hpp>

#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

ZARRPOINT_INLINE std::string about_codec(std::string_view name) {
  if (name.starts_with("numcodecs.")) {
    name.remove_prefix(10);
  } else {
    // No header has a codec of that name.
    for (const std::string_view one : prefixed_codecs) {
      if (name == one)
        return std::string(" (in Zarr v3 its name is \"numcodecs.").append(name) + "\")";
    }
  }
  for (const codec_note& one : opt_in_codecs) {
    if (name != one.name) continue;
    std::string out = " (include <zarrpoint/";
    out.append(one.header).append("> and use ");
    if (*one.codecs == '\0') return out + "numcodecs_codecs)";
    return out.append("default_codecs::with<").append(one.codecs) + ">)";
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

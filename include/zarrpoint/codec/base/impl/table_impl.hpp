// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/any_codec.hpp>
#include <zarrpoint/codec/base/known_codecs.hpp>
#include <zarrpoint/codec/base/table.hpp>
#include <zarrpoint/core/printable.hpp>

#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<any_codec> codec_table::make(const codec_spec& spec,
                                                     const tensor_spec* decoded,
                                                     bytes_view fill) const {
  const codec_entry* const entry = find(spec.name);
  if (entry == nullptr) {
    std::string text =
        "unknown codec " + detail::in_quotes(spec.name) + detail::about_codec(spec.name);
    constexpr std::size_t shown = 12;
    for (std::size_t i = 0; i < entries_.size() && i < shown; ++i)
      text.append(i == 0 ? "; known are " : ", ").append(entries_[i].name);
    if (entries_.empty()) text += "; the table of codecs is empty";
    if (entries_.size() > shown)
      text += " and " + std::to_string(entries_.size() - shown) + " more";
    return error{errc::unsupported, std::move(text)};
  }
  return entry->make(spec.configuration, {*this, decoded, fill})
      .at("codec " + detail::in_quotes(spec.name));
}

}}  // namespace zarrpoint::v0

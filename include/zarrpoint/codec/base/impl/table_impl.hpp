// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/any_codec.hpp>
#include <zarrpoint/codec/base/known_codecs.hpp>
#include <zarrpoint/codec/base/table.hpp>
#include <zarrpoint/core/printable.hpp>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<any_codec> codec_table::make(const codec_spec& spec) const {
  const codec_entry* const entry = find(spec.name);
  if (entry == nullptr)
    return error{errc::unsupported,
                 "unknown codec " + detail::in_quotes(spec.name) + detail::about_codec(spec.name)};
  return entry->make(spec.configuration).at("codec " + detail::in_quotes(spec.name));
}

}}  // namespace zarrpoint::v0

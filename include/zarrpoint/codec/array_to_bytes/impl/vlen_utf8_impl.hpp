// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/array_to_bytes/vlen_utf8.hpp>
#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/codec/kit/vlen.hpp>
#include <zarrpoint/core/utf8.hpp>

#include <string_view>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<vlen_utf8_codec> vlen_utf8_codec::from_configuration(
    const node& configuration) {
  ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {}));
  static_cast<void>(reader);
  return vlen_utf8_codec{};
}

ZARRPOINT_INLINE const char* vlen_utf8_codec::check(std::string_view text) {
  return is_utf8(text) ? nullptr : "a string that is not UTF-8";
}

}}  // namespace zarrpoint::v0

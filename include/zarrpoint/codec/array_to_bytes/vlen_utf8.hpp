// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/codec/kit/vlen.hpp>
#include <zarrpoint/core/config.hpp>

#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The codec `vlen-utf8` of strings: a uint32 number of elements, then for each its uint32 number
/// of bytes and its bytes; integers little-endian (zarr-extensions, "vlen-utf8"; numcodecs). Text
/// that is not UTF-8 is an error both ways.
struct vlen_utf8_codec : detail::vlen_codec<vlen_utf8_codec> {
  static constexpr std::string_view name = "vlen-utf8";
  static constexpr dtype_kind kind = dtype_kind::string;

  static result<vlen_utf8_codec> from_configuration(const node& configuration);
  node configuration() const { return node::object{}; }

  static const char* check(std::string_view text);
};

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/array_to_bytes/impl/vlen_utf8_impl.hpp>
#endif

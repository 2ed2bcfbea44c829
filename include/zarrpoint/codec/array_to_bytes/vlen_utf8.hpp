// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/kit/vlen.hpp>

#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The codec `vlen-utf8` of strings: a uint32 number of elements, then for each its uint32 number
/// of bytes and its bytes; integers little-endian (zarr-extensions, "vlen-utf8"; numcodecs). Text
/// that is not UTF-8 is an error both ways.
struct vlen_utf8_codec : detail::vlen_codec<vlen_utf8_codec> {
  static constexpr std::string_view name = "vlen-utf8";
  static constexpr dtype_kind kind = dtype_kind::string;

  void fields(configuration_fields&) {}

  static const char* check(std::string_view text);
};

/// The codec `vlen-bytes` of elements of type `bytes`: as `vlen-utf8`, for any bytes
/// (zarr-extensions, "vlen-bytes"; numcodecs).
struct vlen_bytes_codec : detail::vlen_codec<vlen_bytes_codec> {
  static constexpr std::string_view name = "vlen-bytes";
  static constexpr dtype_kind kind = dtype_kind::bytes;

  void fields(configuration_fields&) {}

  static const char* check(std::string_view) { return nullptr; }
};

}}  // namespace zarrpoint::v0

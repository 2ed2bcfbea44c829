// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/codec/kit/vlen.hpp>

#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The codec `vlen-bytes` of elements of type `bytes`: as `vlen-utf8`, for any bytes
/// (zarr-extensions, "vlen-bytes"; numcodecs).
struct vlen_bytes_codec : detail::vlen_codec<vlen_bytes_codec> {
  static constexpr std::string_view name = "vlen-bytes";
  static constexpr dtype_kind kind = dtype_kind::bytes;

  static result<vlen_bytes_codec> from_configuration(const node& configuration) {
    ZARRPOINT_TRY(reader, configuration_reader::open(configuration, {}));
    static_cast<void>(reader);
    return vlen_bytes_codec{};
  }
  node configuration() const { return node::object{}; }

  static const char* check(std::string_view) { return nullptr; }
};

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>

// Contexts that allocate from a memory resource are in the static section of the interface.
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The codec `zstd`: Zstandard frames (RFC 8878; zarr-extensions, "zstd"). Writes one frame with
/// its content size; reads any number of frames, skippable ones too, and nothing else after them.
struct zstd_codec {
  static constexpr std::string_view name = "zstd";
  static constexpr std::array<std::string_view, 1> aliases{"numcodecs.zstd"};
  static constexpr bool fixed_size = false;
  static constexpr int min_level = -131072;
  static constexpr int max_level = 22;

  int level = 3;          ///< `min_level` to `max_level`; 0 means 3; beyond them the nearest
  bool checksum = false;  ///< a 32-bit checksum of the content at the end of the frame

  void fields(configuration_fields& all);

  std::uint64_t encoded_bound(std::uint64_t decoded) const;

  result<std::size_t> encode(bytes_view from, mutable_bytes to, codec_workspace& scratch) const;

  result<std::size_t> decode(bytes_view from, mutable_bytes to, codec_workspace& scratch) const;

  /// The sum of the content sizes, when every frame has one.
  std::optional<std::uint64_t> decoded_size(bytes_view stored) const;

 private:
  struct frame {
    bytes_view bytes;
    std::optional<std::uint64_t> content;
    bool skippable = false;
  };

  static result<frame> next_frame(bytes_view from);

  static bool is_no_memory(std::size_t status) noexcept;
  static error failure(std::size_t status, errc code);
};

/// `zstd` for programs that only load: put in its place in a `codec_registry`, it leaves out zstd's
/// encoder, two thirds of that library. Encoding is `unsupported`.
struct zstd_decoder : zstd_codec {
  result<std::size_t> encode(bytes_view, mutable_bytes, codec_workspace&) const;
};

}}  // namespace zarrpoint::v0

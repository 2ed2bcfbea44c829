// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/core/json.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The codec `numcodecs.pcodec`, in Zarr v2 the compressor `pcodec`. The numbers of a chunk,
/// lossless, are stored as files of pco (the format of pcodec, "Standalone Format"), which any
/// version of it has written. Elements: integers of 8 to 64 bits, float16, float32, float64,
/// complex numbers as their parts, times as their counts. Written in classic mode with consecutive
/// deltas, so that every pcodec since 0.2 reads it.
struct pcodec_codec {
  static constexpr std::string_view name = "numcodecs.pcodec";
  static constexpr bool fixed_size = false;
  enum class mode : std::uint8_t { automatic, classic };
  enum class delta : std::uint8_t { automatic, none, try_consecutive, try_lookback };

  int level = 8;                     ///< 0 to 12; here 0 writes one bin, and all others are alike
  mode mode_spec = mode::automatic;  ///< for other writers: here it is always the classic mode
  delta delta_spec = delta::automatic;       ///< lookbacks are read, and not written
  std::optional<int> delta_encoding_order;   ///< 0 to 7; nothing: chosen for each chunk
  std::uint64_t equal_pages_up_to = 262144;  ///< numbers of a chunk of pco
  /// A configuration with values that only other writers know. It is read with, and not written.
  json foreign{};

  void fields(configuration_fields& all);
  /// Reads what `fields` refuses as foreign.
  static result<pcodec_codec> from_configuration(const json& configuration);
  json configuration() const;

  result<pcodec_codec> resolve(const tensor_spec& decoded) const;

  /// UINT64_MAX for what `resolve` refuses.
  std::uint64_t encoded_bound(const tensor_spec& decoded) const;
  result<std::uint64_t> encoded_size(const host_view& from) const;
  result<std::size_t> encode(const host_view& from, mutable_bytes to,
                             codec_workspace& scratch) const;
  result<void> decode(bytes_view stored, const mutable_host_view& into,
                      codec_workspace& scratch) const;
};

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/filter.hpp>
#include <zarrpoint/codec/kit/real_number.hpp>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// The codec `scale_offset` of the registry: `(x - offset) * scale`, and back `x / scale + offset`,
/// in the arithmetic of the array's type. Each step of floats is rounded; a number that the type
/// cannot hold, such as a fraction of an integer, is an error, on either way.
struct scale_offset_codec {
  static constexpr std::string_view name = "scale_offset";

  std::optional<node> offset;  ///< as in the metadata: numbers as fill values spell them
  std::optional<node> scale;
  std::uint64_t offset_bits = 0;  ///< these two are known once the type is
  std::uint64_t scale_bits = 0;

  static result<scale_offset_codec> from_configuration(const node& configuration);
  node configuration() const;

  result<scale_offset_codec> resolve(const tensor_spec& decoded) const;
  tensor_spec encoded_spec(const tensor_spec& decoded) const { return decoded; }

  result<void> encode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<void> decode(const host_view& from, const mutable_host_view& to,
                      codec_workspace& scratch) const;
  result<std::vector<std::byte>> encode_fill(bytes_view fill, const tensor_spec& decoded) const;

 private:
  result<void> run(const mutable_host_view& to, const host_view& from, codec_workspace& scratch,
                   bool forward) const;

  result<std::uint64_t> step(const detail::real_format& format, std::uint64_t bits,
                             bool forward) const;

  result<std::uint64_t> step_float(const detail::real_format& format, std::uint64_t bits,
                                   bool forward) const;

  /// In 128 bits, which hold every difference.
  result<std::uint64_t> step_integer(const detail::real_format& format, std::uint64_t bits,
                                     bool forward) const;

  static error not_held(const detail::real_format& format, bool forward);
};

}}  // namespace zarrpoint::v0

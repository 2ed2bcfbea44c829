// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/kit/filter.hpp>
#include <zarrpoint/codec/numcodecs/numcodecs_packbits.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE result<numcodecs_packbits_codec> numcodecs_packbits_codec::from_configuration(
    const node& configuration) {
  ZARRPOINT_CHECK(configuration_reader::open(configuration, {}));
  return numcodecs_packbits_codec{};
}

ZARRPOINT_INLINE result<numcodecs_packbits_codec> numcodecs_packbits_codec::resolve(
    const tensor_spec& decoded) const {
  if (decoded.type.size() == 1 && decoded.type.is_number()) return *this;
  return error{errc::unsupported,
               "bits of elements of type " + std::string(to_string(decoded.type))};
}

ZARRPOINT_INLINE tensor_spec
numcodecs_packbits_codec::encoded_spec(const tensor_spec& decoded) const {
  const index_t count = element_count(decoded.shape).value_or(0);
  return {dtype_kind::uint8, {1 + count / 8 + (count % 8 == 0 ? 0 : 1)}};
}

ZARRPOINT_INLINE result<void> numcodecs_packbits_codec::encode(const host_view& from,
                                                               const mutable_host_view& to,
                                                               codec_workspace& scratch) const {
  const detail::filter_dtype flags{dtype_kind::uint8, false, {}};
  ZARRPOINT_TRY(source, detail::dense_elements(from, flags, scratch));
  const auto count = static_cast<std::size_t>(source.shape[0]);
  put(to, 0, static_cast<std::byte>(unused(count)));
  for (std::size_t i = 0; i < count; i += 8) {
    unsigned byte = 0;
    for (std::size_t j = i; j < i + 8 && j < count; ++j)
      byte |= (source.data[j] != std::byte{0} ? 0x80U : 0U) >> (j - i);
    put(to, 1 + i / 8, static_cast<std::byte>(byte));
  }
  return {};
}

ZARRPOINT_INLINE result<void> numcodecs_packbits_codec::decode(const host_view& from,
                                                               const mutable_host_view& to,
                                                               codec_workspace& scratch) const {
  const detail::filter_dtype flags{dtype_kind::uint8, false, {}};
  return detail::run_filter(
      to, flags, from, flags, scratch, [](const auto& made, const auto& seen) -> result<void> {
        const auto count = static_cast<std::size_t>(made.shape[0]);
        if (static_cast<std::size_t>(seen.data[0]) != unused(count))
          return error{errc::corrupt, "the stored number of unused bits is wrong"};
        for (std::size_t i = 0; i < count; ++i) {
          const auto byte = static_cast<unsigned>(seen.data[1 + i / 8]);
          made.data[i] = static_cast<std::byte>(byte >> (7 - i % 8) & 1);
        }
        return {};
      });
}

ZARRPOINT_INLINE void numcodecs_packbits_codec::put(const mutable_host_view& to, std::size_t i,
                                                    std::byte value) {
  to.data[static_cast<index_t>(i) * to.strides[0]] = value;
}

}}  // namespace zarrpoint::v0

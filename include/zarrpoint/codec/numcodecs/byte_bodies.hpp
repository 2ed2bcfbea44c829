// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/numcodecs/byte_codecs.hpp>
#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/core/config.hpp>

#include <limits>

namespace zarrpoint { inline namespace v0 {

// --------------------------------------------------------------------------------- byte_codecs.hpp

ZARRPOINT_INLINE std::uint64_t base64_codec::encoded_bound(std::uint64_t decoded) const {
  return decoded > UINT64_MAX / 2 ? UINT64_MAX : detail::base64_size(decoded);
}

ZARRPOINT_INLINE result<std::size_t> base64_codec::encode(bytes_view from, mutable_bytes to,
                                                          codec_workspace&) const {
  const std::size_t size = detail::base64_size(from.size());
  if (to.size() < size) return error{errc::out_of_range, "the output does not fit"};
  detail::base64_encode(from, reinterpret_cast<char*>(to.data()));
  return size;
}

ZARRPOINT_INLINE result<std::size_t> base64_codec::decode(bytes_view from, mutable_bytes to,
                                                          codec_workspace&) const {
  const std::optional<std::size_t> size = detail::base64_decoded_size(as_text(from));
  if (!size) return error{errc::corrupt, "the text is not base64"};
  if (*size > to.size())
    return error{errc::out_of_range, std::to_string(*size) + " bytes where " +
                                         std::to_string(to.size()) + " are expected"};
  if (!detail::base64_decode(as_text(from), to.data()))
    return error{errc::corrupt, "the text is not base64"};
  return *size;
}

ZARRPOINT_INLINE std::optional<std::uint64_t> base64_codec::decoded_size(bytes_view stored) const {
  return detail::base64_decoded_size(as_text(stored));
}

ZARRPOINT_INLINE void jenkins_lookup3_codec::fields(configuration_fields& all) {
  all.integer("initval", initial, 0, UINT32_MAX);
  all.put("prefix", {});
  const json* const prefix = all.find("prefix");
  if (prefix != nullptr && !prefix->is_null())
    all.fail({errc::unsupported, "the only \"prefix\" that is known is null"});
}

ZARRPOINT_INLINE void lz4_codec::fields(configuration_fields& all) {
  all.integer("acceleration", acceleration, -INT32_MAX, INT32_MAX);
}

ZARRPOINT_INLINE std::uint64_t lz4_codec::encoded_bound(std::uint64_t decoded) const {
  const std::uint64_t block = detail::lz4_bound(decoded);
  return block > UINT64_MAX - header ? UINT64_MAX : block + header;
}

ZARRPOINT_INLINE result<std::size_t> lz4_codec::encode(bytes_view from, mutable_bytes to,
                                                       codec_workspace& scratch) const {
  if (to.size() < header) return error{errc::out_of_range, "the output does not fit"};
  ZARRPOINT_TRY(written, detail::lz4_encode(from, to.subspan(header), scratch));
  store_le<std::uint32_t>(to.data(), static_cast<std::uint32_t>(from.size()));
  return header + written;
}

ZARRPOINT_INLINE result<std::size_t> lz4_codec::decode(bytes_view from, mutable_bytes to,
                                                       codec_workspace&) const {
  const std::optional<std::uint64_t> size = decoded_size(from);
  if (!size) return error{errc::corrupt, "the size at the beginning is missing"};
  if (*size > to.size())
    return error{errc::out_of_range, std::to_string(*size) + " bytes where " +
                                         std::to_string(to.size()) + " are expected"};
  result<std::size_t> written =
      detail::lz4_decode(from.subspan(header), to.first(static_cast<std::size_t>(*size)));
  if (written && *written == *size) return *written;
  if (!written && written.failure().code != errc::out_of_range) return written;
  return error{errc::corrupt, "the block does not decode to the " + std::to_string(*size) +
                                  " bytes that its header states"};
}

ZARRPOINT_INLINE std::optional<std::uint64_t> lz4_codec::decoded_size(bytes_view stored) const {
  if (stored.size() < header) return std::nullopt;
  const auto size = load_le<std::uint32_t>(stored.data());
  if (size > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max()))
    return std::nullopt;
  return size;
}

ZARRPOINT_INLINE result<numcodecs_packbits_codec> numcodecs_packbits_codec::resolve(
    const tensor_spec& decoded) const {
  if (decoded.type.size() == 1 && decoded.type.is_number()) return *this;
  return error{errc::unsupported, "packbits works on elements of one byte; this array has " +
                                      std::string(to_string(decoded.type))};
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

ZARRPOINT_INLINE void shuffle_codec::fields(configuration_fields& all) {
  all.integer("elementsize", element_size, 0, INT32_MAX);
}

ZARRPOINT_INLINE result<shuffle_codec> shuffle_codec::resolve(const tensor_spec& decoded) const {
  shuffle_codec out = *this;
  if (!element_size) out.element_size = decoded.type.size();
  return out;
}

ZARRPOINT_INLINE result<std::size_t> shuffle_codec::encode(bytes_view from, mutable_bytes to,
                                                           codec_workspace&) const {
  ZARRPOINT_CHECK(check(from, to, errc::invalid_argument));
  if (!from.empty()) detail::byte_shuffle(to.first(from.size()), from, step());
  return from.size();
}

ZARRPOINT_INLINE result<std::size_t> shuffle_codec::decode(bytes_view from, mutable_bytes to,
                                                           codec_workspace&) const {
  ZARRPOINT_CHECK(check(from, to, errc::corrupt));
  if (!from.empty()) detail::byte_unshuffle(to.first(from.size()), from, step());
  return from.size();
}

ZARRPOINT_INLINE std::size_t shuffle_codec::step() const {
  const std::size_t size = element_size.value_or(default_size);
  return size == 0 ? 1 : size;
}

ZARRPOINT_INLINE result<void> shuffle_codec::check(bytes_view from, mutable_bytes to,
                                                   errc code) const {
  if (from.size() % step() != 0)
    return error{code, std::to_string(from.size()) +
                           " bytes are not a multiple of the element size " +
                           std::to_string(step())};
  if (from.size() > to.size())
    return error{errc::out_of_range, std::to_string(from.size()) + " bytes where " +
                                         std::to_string(to.size()) + " are expected"};
  return {};
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/kit/lz_bodies.hpp>
#include <zarrpoint/codec/kit/number_bodies.hpp>
#endif

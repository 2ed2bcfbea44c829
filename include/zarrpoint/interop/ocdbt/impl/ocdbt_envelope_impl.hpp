// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>
#include <zarrpoint/core/checksum/crc32c.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_envelope.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

inline constexpr std::size_t ocdbt_envelope_head = 14;  // mark, length, version, compression
inline constexpr std::size_t ocdbt_envelope_trailer = 4;

/// One zstd frame. That TensorStore wrote it as a stream means that its size may not be told.
ZARRPOINT_INLINE result<std::vector<std::byte>> decompress_ocdbt(bytes_view frame,
                                                                 std::uint64_t limit) {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                        ZSTD_freeDCtx);
  if (context == nullptr) return error{errc::resource_limit, "zstd cannot allocate a decompressor"};
  const unsigned long long told = ZSTD_getFrameContentSize(frame.data(), frame.size());
  std::uint64_t size = told <= limit ? told : std::uint64_t{4} * frame.size();
  std::vector<std::byte> out(
      static_cast<std::size_t>(std::min(limit, std::max<std::uint64_t>(size, 64))));
  ZSTD_inBuffer from{frame.data(), frame.size(), 0};
  std::size_t made = 0;
  while (true) {
    ZSTD_outBuffer to{out.data(), out.size(), made};
    const std::size_t status = ZSTD_decompressStream(context.get(), &to, &from);
    if (ZSTD_isError(status) != 0)
      return error{errc::corrupt,
                   std::string("its zstd frame is damaged: ") + ZSTD_getErrorName(status)};
    made = to.pos;
    if (status == 0) break;
    if (made < out.size()) return error{errc::corrupt, "its zstd frame is cut short"};
    if (made >= limit)
      return error{errc::resource_limit, "it has more than the limit of " + std::to_string(limit) +
                                             " bytes when it is decompressed"};
    out.resize(static_cast<std::size_t>(std::min<std::uint64_t>(limit, out.size() * 2)));
  }
  if (from.pos != from.size) return error{errc::corrupt, "bytes follow its zstd frame"};
  out.resize(made);
  out.shrink_to_fit();
  return out;
}

ZARRPOINT_INLINE result<std::vector<std::byte>> open_ocdbt_envelope(bytes_view stored,
                                                                    std::uint32_t mark,
                                                                    std::uint64_t limit) {
  constexpr std::size_t head = ocdbt_envelope_head;
  constexpr std::size_t trailer = ocdbt_envelope_trailer;
  if (stored.size() < head + trailer) return error{errc::corrupt, "it is too short"};
  if (byteswap(load_le<std::uint32_t>(stored.data())) != mark)
    return error{errc::corrupt, "it does not begin as such a record does"};
  if (load_le<std::uint64_t>(stored.data() + 4) != stored.size())
    return error{errc::corrupt, "it is not as long as it says"};
  const bytes_view summed = stored.first(stored.size() - trailer);
  if (crc32c(summed) != load_le<std::uint32_t>(stored.data() + summed.size()))
    return error{errc::corrupt, "its bytes do not match its crc32c"};
  const auto version = static_cast<unsigned>(stored[12]);
  const auto compression = static_cast<unsigned>(stored[13]);
  if (version != 0 || compression > 1)
    return error{errc::unsupported, "it is of a later version of the format"};
  const bytes_view body = summed.subspan(head);
  if (compression == 1) return decompress_ocdbt(body, limit);
  if (body.size() > limit)
    return error{errc::resource_limit,
                 "it has more than the limit of " + std::to_string(limit) + " bytes"};
  return std::vector<std::byte>(body.begin(), body.end());
}

ZARRPOINT_INLINE result<std::vector<std::byte>> close_ocdbt_envelope(
    bytes_view body, std::uint32_t mark, std::optional<std::int32_t> zstd_level) {
  const std::size_t most = zstd_level ? ZSTD_compressBound(body.size()) : body.size();
  if (ZSTD_isError(most) != 0)
    return error{errc::resource_limit, "a record is too large to be compressed"};
  std::vector<std::byte> out(ocdbt_envelope_head + most + ocdbt_envelope_trailer);
  std::size_t stored = body.size();
  if (zstd_level) {
    stored = ZSTD_compress(out.data() + ocdbt_envelope_head, most, body.data(), body.size(),
                           *zstd_level);
    if (ZSTD_isError(stored) != 0)
      return error{errc::resource_limit,
                   std::string("zstd cannot compress a record: ") + ZSTD_getErrorName(stored)};
  } else {
    std::copy(body.begin(), body.end(), out.begin() + ocdbt_envelope_head);
  }
  out.resize(ocdbt_envelope_head + stored + ocdbt_envelope_trailer);
  store_le<std::uint32_t>(out.data(), byteswap(mark));
  store_le<std::uint64_t>(out.data() + 4, out.size());
  out[12] = std::byte{0};
  out[13] = zstd_level ? std::byte{1} : std::byte{0};
  const bytes_view summed = bytes_view(out).first(out.size() - ocdbt_envelope_trailer);
  store_le<std::uint32_t>(out.data() + summed.size(), crc32c(summed));
  return out;
}

}}}  // namespace zarrpoint::v0::detail

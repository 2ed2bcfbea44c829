// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/bytes_to_bytes/zstd.hpp>
#include <zarrpoint/codec/kit/library_memory.hpp>
#include <zarrpoint/core/config.hpp>

#if !defined(ZSTD_STATIC_LINKING_ONLY)
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#undef ZSTD_STATIC_LINKING_ONLY
#else
#include <zstd.h>
#endif
#include <zstd_errors.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

namespace zarrpoint { inline namespace v0 {

// ---------------------------------------------------------------------------------------- zstd.hpp

namespace detail {

/// A zstd context of one worker, made when first needed; its memory is counted by the resource.
/// One type for each kind, so that a program that only decodes does not link what encodes.
template <class Context>
class zstd_state {
  static constexpr bool encodes = std::is_same_v<Context, ZSTD_CCtx>;

 public:
  explicit zstd_state(memory_resource& from) : memory_(from) {}
  zstd_state(const zstd_state&) = delete;
  zstd_state& operator=(const zstd_state&) = delete;
  ~zstd_state() {
    if constexpr (encodes) {
      ZSTD_freeCCtx(context_);
    } else {
      ZSTD_freeDCtx(context_);
    }
  }

  /// Null when the resource refuses.
  Context* context() {
    if (context_ != nullptr) return context_;
    const ZSTD_customMem memory{&library_memory::allocate, &library_memory::deallocate, &memory_};
    if constexpr (encodes) {
      context_ = ZSTD_createCCtx_advanced(memory);
    } else {
      context_ = ZSTD_createDCtx_advanced(memory);
    }
    return context_;
  }

  error no_memory() const { return memory_.no_memory("a context"); }

 private:
  library_memory memory_;
  Context* context_ = nullptr;
};

}  // namespace detail

ZARRPOINT_INLINE void zstd_codec::fields(configuration_fields& all) {
  all.integer("level", level, INT32_MIN, INT32_MAX);
  // numcodecs writes levels as they were given, and zstd takes the nearest that it has.
  level = std::clamp(level, min_level, max_level);
  all.boolean("checksum", checksum);
}

ZARRPOINT_INLINE std::uint64_t zstd_codec::encoded_bound(std::uint64_t decoded) const {
  const std::uint64_t bound = ZSTD_COMPRESSBOUND(decoded);  // ZSTD_compressBound links the encoder
  return bound < decoded ? UINT64_MAX : bound;
}

ZARRPOINT_INLINE result<std::size_t> zstd_codec::encode(bytes_view from, mutable_bytes to,
                                                        codec_workspace& scratch) const {
  auto& state = scratch.state<detail::zstd_state<ZSTD_CCtx>>();
  ZSTD_CCtx* const context = state.context();
  if (context == nullptr) return state.no_memory();
  ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);
  for (const auto& [parameter, value] :
       {std::pair(ZSTD_c_compressionLevel, level), {ZSTD_c_checksumFlag, checksum ? 1 : 0}}) {
    const std::size_t status = ZSTD_CCtx_setParameter(context, parameter, value);
    if (ZSTD_isError(status)) return failure(status, errc::invalid_argument);
  }
  const std::size_t written =
      ZSTD_compress2(context, to.data(), to.size(), from.data(), from.size());
  if (is_no_memory(written)) return state.no_memory();
  if (ZSTD_isError(written)) return failure(written, errc::invalid_argument);
  return written;
}

ZARRPOINT_INLINE result<std::size_t> zstd_codec::decode(bytes_view from, mutable_bytes to,
                                                        codec_workspace& scratch) const {
  auto& state = scratch.state<detail::zstd_state<ZSTD_DCtx>>();
  ZSTD_DCtx* const context = state.context();
  if (context == nullptr) return state.no_memory();
  if (from.empty()) return error{errc::corrupt, "the input is empty"};
  std::size_t done = 0;
  while (!from.empty()) {
    // One frame at a time. What is not a frame of today's format never reaches the decoders of
    // older ones, and a content size that cannot fit is refused before any work.
    ZARRPOINT_TRY(one, next_frame(from));
    from = from.subspan(one.bytes.size());
    if (one.skippable) continue;
    const mutable_bytes rest = to.subspan(done);
    if (one.content && *one.content > rest.size())
      return error{errc::out_of_range, "the frame holds " + std::to_string(*one.content) +
                                           " bytes, but " + std::to_string(rest.size()) +
                                           " are expected"};
    const std::size_t written =
        ZSTD_decompressDCtx(context, rest.data(), rest.size(), one.bytes.data(), one.bytes.size());
    if (is_no_memory(written)) return state.no_memory();
    if (ZSTD_isError(written)) return failure(written, errc::corrupt);
    done += written;
  }
  return done;
}

ZARRPOINT_INLINE std::optional<std::uint64_t> zstd_codec::decoded_size(bytes_view stored) const {
  std::uint64_t total = 0;
  while (!stored.empty()) {
    const result<frame> one = next_frame(stored);
    if (!one) return std::nullopt;
    stored = stored.subspan(one->bytes.size());
    if (one->skippable) continue;
    if (!one->content || __builtin_add_overflow(total, *one->content, &total)) return std::nullopt;
  }
  return total;
}

ZARRPOINT_INLINE result<zstd_codec::frame> zstd_codec::next_frame(bytes_view from) {
  frame out;
  if (from.size() < sizeof(std::uint32_t)) return error{errc::corrupt, "the frame is truncated"};
  const auto magic = load_le<std::uint32_t>(from.data());
  out.skippable = (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
  if (!out.skippable && magic != ZSTD_MAGICNUMBER)
    return error{errc::corrupt, "the bytes are not a zstd frame"};
  const std::size_t size = ZSTD_findFrameCompressedSize(from.data(), from.size());
  if (ZSTD_isError(size)) return failure(size, errc::corrupt);
  out.bytes = from.first(size);
  const unsigned long long content = ZSTD_getFrameContentSize(from.data(), from.size());
  if (content == ZSTD_CONTENTSIZE_ERROR && !out.skippable)
    return error{errc::corrupt, "the frame header is damaged"};
  if (content < ZSTD_CONTENTSIZE_ERROR) out.content = content;
  return out;
}

ZARRPOINT_INLINE bool zstd_codec::is_no_memory(std::size_t status) noexcept {
  return ZSTD_getErrorCode(status) == ZSTD_error_memory_allocation;
}

ZARRPOINT_INLINE error zstd_codec::failure(std::size_t status, errc code) {
  switch (ZSTD_getErrorCode(status)) {
    case ZSTD_error_memory_allocation: code = errc::resource_limit; break;
    case ZSTD_error_dstSize_tooSmall: code = errc::out_of_range; break;
    case ZSTD_error_srcSize_wrong: return {code, "the frame is truncated"};
    default: break;
  }
  return {code, ZSTD_getErrorName(status)};
}

ZARRPOINT_INLINE result<std::size_t> zstd_decoder::encode(bytes_view, mutable_bytes,
                                                          codec_workspace&) const {
  return error{errc::unsupported, "zstd_decoder does not encode"};
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/kit/lz_bodies.hpp>
#endif

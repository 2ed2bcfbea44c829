// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Opt in: include this header, link liblzma (-llzma), and use `default_codecs::with<lzma_codec>`.

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/kit/lzma_filters.hpp>
#include <zarrpoint/codec/kit/stream_library.hpp>

#include <lzma.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// A coder of liblzma whose memory is counted.
class lzma_stream_state {
 public:
  explicit lzma_stream_state(memory_resource& from) : memory_(from) {
    allocator_.alloc = [](void* memory, std::size_t items, std::size_t size) -> void* {
      std::size_t bytes = 0;
      if (__builtin_mul_overflow(items, size, &bytes)) return nullptr;
      return library_memory::allocate(memory, bytes);
    };
    allocator_.free = library_memory::deallocate;
    allocator_.opaque = &memory_;
    stream_.allocator = &allocator_;
  }
  lzma_stream_state(const lzma_stream_state&) = delete;
  lzma_stream_state& operator=(const lzma_stream_state&) = delete;
  ~lzma_stream_state() { lzma_end(&stream_); }

  lzma_stream& get() { return stream_; }

  void connect(bytes_view from, mutable_bytes to) {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(from.data());
    stream_.avail_in = from.size();
    stream_.next_out = to.empty() ? &spare_ : reinterpret_cast<std::uint8_t*>(to.data());
    stream_.avail_out = to.size();
  }

  /// Why liblzma gave up; `otherwise` where it found no sense in what it was given.
  error failure(lzma_ret status, errc otherwise) const {
    switch (status) {
      case LZMA_MEM_ERROR: return memory_.no_memory("a coder");
      case LZMA_MEMLIMIT_ERROR:
        return {errc::resource_limit, "the dictionary is larger than the content can need"};
      case LZMA_OPTIONS_ERROR: return {errc::unsupported, "liblzma does not support these options"};
      case LZMA_UNSUPPORTED_CHECK:
        return {errc::unsupported, "liblzma does not support this check"};
      case LZMA_FORMAT_ERROR: return {otherwise, "the bytes are not a stream of this format"};
      default: return {otherwise, "the stream is damaged"};
    }
  }

 private:
  library_memory memory_;
  lzma_allocator allocator_{};
  lzma_stream stream_ = LZMA_STREAM_INIT;
  std::uint8_t spare_ = 0;
};

}  // namespace detail

/// The codec `numcodecs.lzma`: `format` 1 is the .xz format, 2 the older .lzma ("alone"), 3 the raw
/// output of `filters`. Writes one stream; reads, of .xz, one or more, and nothing else after it.
struct lzma_codec {
  static constexpr std::string_view name = "numcodecs.lzma";
  static constexpr bool fixed_size = false;
  enum class container : std::uint8_t { xz = 1, alone = 2, raw = 3 };

  container format = container::xz;
  int check = -1;                       ///< of .xz: 0 none, 1 CRC32, 4 CRC64, 10 SHA-256; -1: CRC64
  std::optional<std::uint32_t> preset;  ///< 0 to 9, and 2^31 for "extreme"; nothing: 6
  json filters{};  ///< null, or a list as in Python; of .xz for the encoder only

  void fields(configuration_fields& all) {
    all.integer("format", format, 1, 3);
    all.integer("check", check, -1, LZMA_CHECK_ID_MAX);
    all.integer("preset", preset, 0, UINT32_MAX);
    if (!preset) all.put("preset", {});
    all.put("filters", filters);
    if (const json* const given = all.find("filters")) filters = *given;
    if (preset && (*preset & ~LZMA_PRESET_EXTREME) > 9)
      all.fail("\"preset\" is not an integer from 0 to 9");
    if (filters.is_null() && format == container::raw) all.fail("\"format\" 3 needs \"filters\"");
    if (!filters.is_null() && preset) all.fail("\"preset\" and \"filters\" exclude each other");
    if (!all.failed()) all.check(chain());
  }

  /// LZMA2 stores what it cannot compress; LZMA1 cannot, and a literal takes at most 9 decisions.
  std::uint64_t encoded_bound(std::uint64_t decoded) const {
    const std::uint64_t extra = decoded / 4 + 65536;
    return decoded > UINT64_MAX - extra ? UINT64_MAX : decoded + extra;
  }

  result<std::size_t> encode(bytes_view from, mutable_bytes to, codec_workspace& scratch) const {
    ZARRPOINT_TRY(chosen, chain());
    auto& state = scratch.state<encoder>();
    lzma_stream& stream = state.get();
    lzma_ret status = LZMA_OK;
    switch (format) {
      case container::xz: {
        const auto id = check < 0 ? LZMA_CHECK_CRC64 : static_cast<lzma_check>(check);
        status = lzma_stream_encoder(&stream, chosen.filters(), id);
        break;
      }
      case container::alone: status = lzma_alone_encoder(&stream, &chosen.options()); break;
      case container::raw: status = lzma_raw_encoder(&stream, chosen.filters()); break;
    }
    if (status != LZMA_OK) return state.failure(status, errc::invalid_argument);
    state.connect(from, to);
    status = lzma_code(&stream, LZMA_FINISH);
    while (status == LZMA_OK && stream.avail_out != 0) status = lzma_code(&stream, LZMA_FINISH);
    if (status == LZMA_STREAM_END) return to.size() - stream.avail_out;
    if (stream.avail_out == 0) return error{errc::out_of_range, "the output does not fit"};
    return state.failure(status, errc::invalid_argument);
  }

  result<std::size_t> decode(bytes_view from, mutable_bytes to, codec_workspace& scratch) const {
    std::size_t done = 0;
    do {
      ZARRPOINT_TRY(written, decode_stream(from, to.subspan(done), scratch.state<decoder>()));
      done += written;
      if (format != container::xz && !from.empty())
        return error{errc::corrupt, std::to_string(from.size()) + " bytes follow the stream"};
    } while (!from.empty());
    return done;
  }

 private:
  struct encoder : detail::lzma_stream_state {
    using lzma_stream_state::lzma_stream_state;
  };
  struct decoder : detail::lzma_stream_state {
    using lzma_stream_state::lzma_stream_state;
  };

  result<detail::lzma_filter_chain> chain() const {
    const bool one = format != container::xz;  // .lzma and raw without filters: LZMA1
    ZARRPOINT_TRY(
        made, detail::lzma_filter_chain::make(filters, preset.value_or(LZMA_PRESET_DEFAULT), one));
    if (format == container::alone && !filters.is_null()) ZARRPOINT_CHECK(made.check_alone());
    return made;
  }

  /// Memory for the dictionary is asked for as the stream says, whatever its content: no more than
  /// the largest preset or this content has use for.
  static std::uint64_t memory_limit(std::size_t decoded) {
    constexpr std::uint64_t presets = std::uint64_t{96} << 20;
    return std::max<std::uint64_t>(presets, 2 * std::uint64_t{decoded});
  }

  /// One stream from the start of `from`, which moves on past it.
  result<std::size_t> decode_stream(bytes_view& from, mutable_bytes to, decoder& state) const {
    lzma_stream& stream = state.get();
    lzma_ret status = LZMA_OK;
    switch (format) {
      case container::xz: status = lzma_stream_decoder(&stream, memory_limit(to.size()), 0); break;
      case container::alone: status = lzma_alone_decoder(&stream, memory_limit(to.size())); break;
      case container::raw: {
        ZARRPOINT_TRY(chosen, chain());
        if (lzma_raw_decoder_memusage(chosen.filters()) > memory_limit(to.size()))
          return state.failure(LZMA_MEMLIMIT_ERROR, errc::corrupt);
        status = lzma_raw_decoder(&stream, chosen.filters());
        break;
      }
    }
    if (status != LZMA_OK) return state.failure(status, errc::corrupt);
    state.connect(from, to);
    while (status == LZMA_OK) status = lzma_code(&stream, LZMA_FINISH);
    from = from.last(stream.avail_in);
    const std::size_t written = to.size() - stream.avail_out;
    // A raw LZMA2 or LZMA1 stream may know its end only when asked for more.
    if (status == LZMA_STREAM_END) return written;
    if (status != LZMA_BUF_ERROR) return state.failure(status, errc::corrupt);
    // No progress: input or output has run out. One more byte of room tells which.
    if (stream.avail_out != 0) return error{errc::corrupt, "the stream is truncated"};
    std::uint8_t one_more = 0;
    stream.next_out = &one_more;
    stream.avail_out = 1;
    status = lzma_code(&stream, LZMA_FINISH);
    if (stream.avail_out == 0)
      return error{errc::out_of_range,
                   "more than the " + std::to_string(to.size()) + " bytes expected"};
    from = from.last(stream.avail_in);
    if (status == LZMA_STREAM_END) return written;
    return error{errc::corrupt, "the stream is truncated"};
  }
};

}}  // namespace zarrpoint::v0

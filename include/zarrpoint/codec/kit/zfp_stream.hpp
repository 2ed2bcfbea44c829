// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/configuration.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/memory/buffer.hpp>
#include <zarrpoint/memory/strided_copy.hpp>

#include <zfp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

// What the two codecs of zfp have in common. That library checks no bounds: what it writes has room
// for all that the parameters of a stream allow, and what it reads has zeros behind it, as many as
// blocks of zeros can take.
namespace zarrpoint { inline namespace v0 {

/// How zfp is told to compress (its manual, "Compression modes").
struct zfp_options {
  enum class kind : std::uint8_t {
    reversible,       ///< lossless
    expert,           ///< by the four numbers below
    fixed_accuracy,   ///< no error above `tolerance`
    fixed_rate,       ///< `rate` bits for each number
    fixed_precision,  ///< `precision` bit planes of each block
  };

  kind mode = kind::reversible;
  double tolerance = 0;
  double rate = 0;
  std::uint32_t precision = 0;
  std::uint32_t minbits = ZFP_MIN_BITS;  ///< bits of a block, at least
  std::uint32_t maxbits = ZFP_MAX_BITS;  ///< bits of a block, at most
  std::uint32_t maxprec = ZFP_MAX_PREC;  ///< bit planes, at most
  std::int32_t minexp = ZFP_MIN_EXP;     ///< the lowest bit plane, as an exponent of two
};

namespace detail {

/// A stream of zfp in memory of ours. zfp checks no bounds of it: `zfp_stream_bytes` and
/// `zfp_readable_bytes` say how much memory it needs.
class zfp_bits {
 public:
  explicit zfp_bits(mutable_bytes memory)
      : bits_(stream_open(memory.data(), memory.size())), stream_(zfp_stream_open(bits_)) {}
  zfp_bits(const zfp_bits&) = delete;
  zfp_bits& operator=(const zfp_bits&) = delete;
  ~zfp_bits() {
    if (stream_ != nullptr) zfp_stream_close(stream_);
    if (bits_ != nullptr) stream_close(bits_);
  }
  /// Null when there is no memory for it.
  zfp_stream* get() const { return bits_ == nullptr ? nullptr : stream_; }

 private:
  bitstream* bits_;
  zfp_stream* stream_;
};

/// What zfp takes of the system by itself is of this size.
inline error no_zfp_memory() {
  return cannot_allocate(sizeof(zfp_stream), default_resource(), "a stream");
}

/// The type in which zfp sees elements of `type`; integers of fewer bits are promoted to int32, and
/// unsigned ones take the non-negative half of the signed type.
inline zfp_type zfp_type_of(const dtype& type) {
  switch (type.kind()) {
    case dtype_kind::float32: return zfp_type_float;
    case dtype_kind::float64: return zfp_type_double;
    case dtype_kind::int64:
    case dtype_kind::uint64: return zfp_type_int64;
    case dtype_kind::int8:
    case dtype_kind::uint8:
    case dtype_kind::int16:
    case dtype_kind::uint16:
    case dtype_kind::int32:
    case dtype_kind::uint32: return zfp_type_int32;
    default: return zfp_type_none;
  }
}

/// The type of `zfp_type_of` as one of ours.
inline dtype_kind zfp_elements(zfp_type type) {
  if (type == zfp_type_float) return dtype_kind::float32;
  if (type == zfp_type_double) return dtype_kind::float64;
  return type == zfp_type_int64 ? dtype_kind::int64 : dtype_kind::int32;
}

/// Whether the stream is lossless, as zfp decides it.
inline bool is_zfp_reversible(const zfp_stream& stream) { return stream.minexp < ZFP_MIN_EXP; }

/// The bits of a block before those of its values, at most: the exponent, and what is lossless.
inline std::uint32_t zfp_block_head(const zfp_stream& stream, zfp_type type) {
  const bool reversible = is_zfp_reversible(stream);
  if (type == zfp_type_float) return reversible ? 1 + 1 + 8 + 5 : 1 + 8;
  if (type == zfp_type_double) return reversible ? 1 + 1 + 11 + 6 : 1 + 11;
  if (!reversible) return 0;
  return type == zfp_type_int64 ? 6 : 5;
}

/// The bits of a number, as zfp sees it.
inline std::uint32_t zfp_precision(zfp_type type) {
  return type == zfp_type_int64 || type == zfp_type_double ? 64 : 32;
}

/// The bits of a block, at most. That of `zfp_stream_maximum_size` is too small for lossless
/// streams with a `maxprec`: decoding does not look at that, but at the precision that each block
/// states.
inline std::uint64_t zfp_block_bits(const zfp_stream& stream, const zfp_field& field) {
  const std::uint64_t values = std::uint64_t{1} << (2 * zfp_field_dimensionality(&field));
  std::uint32_t planes = zfp_precision(field.type);
  if (!is_zfp_reversible(stream)) planes = std::min(planes, stream.maxprec);
  const std::uint64_t bits = zfp_block_head(stream, field.type) + values - 1 + values * planes;
  return std::max<std::uint64_t>(std::min<std::uint64_t>(bits, stream.maxbits), stream.minbits);
}

/// The chunk as zfp sees it, without its data: the last axis is x.
inline result<zfp_field> zfp_field_of(const tensor_spec& chunk) {
  zfp_field out{};
  out.type = zfp_type_of(chunk.type);
  if (out.type == zfp_type_none)
    return error{errc::unsupported,
                 "cannot compress elements of type " + std::string(to_string(chunk.type))};
  ZARRPOINT_CHECK(element_count(chunk.shape));
  const std::size_t rank = chunk.shape.rank();
  if (rank > 4)
    return error{errc::unsupported,
                 "cannot compress " + std::to_string(rank) + " dimensions; 4 is the most"};
  if (native_endian != endian::little)
    return error{errc::unsupported, "cannot compress on a machine that is not little-endian"};
  std::array<std::size_t, 4> sizes{};
  if (rank == 0) sizes[0] = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    if (chunk.shape[rank - 1 - i] == 0)
      return error{errc::invalid_argument, "the chunk has no elements"};
    sizes[i] = static_cast<std::size_t>(chunk.shape[rank - 1 - i]);
  }
  out.nx = sizes[0];
  out.ny = sizes[1];
  out.nz = sizes[2];
  out.nw = sizes[3];
  return out;
}

/// Parameters that keep zfp within the bits that it counts for a block, and fields whose bits
/// can be counted.
inline result<void> check_zfp_parameters(const zfp_stream& stream, const zfp_field& field) {
  // Of one dimension zfp splits off the blocks with a mask of 32 bits, and takes all the rest as
  // one block.
  if (zfp_field_dimensionality(&field) == 1 && field.nx > UINT32_MAX)
    return error{errc::unsupported, "cannot compress one dimension of 2^32 elements or more"};
  if (zfp_field_blocks(&field) > UINT64_MAX >> 20)  // a block has 2^15 bits at most
    return error{errc::unsupported, "cannot compress 2^44 blocks or more"};
  const std::uint32_t head = std::max(zfp_block_head(stream, field.type), 1U);
  if (stream.minbits > stream.maxbits || stream.maxbits < head || stream.maxbits > 1U << 15 ||
      stream.maxprec == 0 || stream.maxprec > ZFP_MAX_PREC || stream.minexp < -16495 ||
      stream.minexp > 16272)
    return error{errc::invalid_argument,
                 "zfp does not accept these parameters for this element type"};
  return {};
}

/// Sets the mode of `stream` for blocks of `field`.
inline result<void> set_zfp_mode(zfp_stream& stream, const zfp_options& how,
                                 const zfp_field& field) {
  const unsigned axes = zfp_field_dimensionality(&field);
  switch (how.mode) {
    case zfp_options::kind::reversible: zfp_stream_set_reversible(&stream); break;
    case zfp_options::kind::fixed_accuracy:
      if (!(how.tolerance >= 0) || !std::isfinite(how.tolerance))
        return error{errc::invalid_argument, "the tolerance must be a number of 0 or more"};
      zfp_stream_set_accuracy(&stream, how.tolerance);
      break;
    case zfp_options::kind::fixed_precision:
      zfp_stream_set_precision(&stream, how.precision);
      break;
    case zfp_options::kind::fixed_rate:
      if (!(how.rate >= 0))
        return error{errc::invalid_argument, "the rate must be a number of 0 or more"};
      if (how.rate * static_cast<double>(1U << (2 * axes)) > ZFP_MAX_BITS)
        return error{errc::invalid_argument, "the rate is more bits than a block can have"};
      zfp_stream_set_rate(&stream, how.rate, field.type, axes, zfp_false);
      break;
    case zfp_options::kind::expert:
      if (how.minbits > ZFP_MAX_BITS ||
          zfp_stream_set_params(&stream, how.minbits, std::min(how.maxbits, 1U << 15), how.maxprec,
                                how.minexp) == 0)
        return error{errc::invalid_argument, "zfp does not accept these parameters"};
      break;
  }
  return check_zfp_parameters(stream, field);
}

/// Integers of `bits` bits as the upper ones of an int32, and back (zarr-extensions, "zfp").
template <class T>
void promote_for_zfp(std::int32_t* to, const T* from, std::size_t count) {
  constexpr int shift = 31 - std::numeric_limits<std::make_unsigned_t<T>>::digits;
  constexpr std::int32_t half = std::is_signed_v<T> ? 0 : 1 << (std::numeric_limits<T>::digits - 1);
  for (std::size_t i = 0; i < count; ++i) to[i] = (std::int32_t{from[i]} - half) * (1 << shift);
}
template <class T>
void demote_from_zfp(T* to, const std::int32_t* from, std::size_t count) {
  constexpr int shift = 31 - std::numeric_limits<std::make_unsigned_t<T>>::digits;
  constexpr std::int32_t half = std::is_signed_v<T> ? 0 : 1 << (std::numeric_limits<T>::digits - 1);
  for (std::size_t i = 0; i < count; ++i)
    to[i] = static_cast<T>(std::clamp<std::int32_t>(
        (from[i] >> shift) + half, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

/// Calls `f(T{})` with the integer type of fewer than 32 bits; false for other types.
template <class F>
bool with_small_integer(const dtype& type, F&& f) {
  switch (type.kind()) {
    case dtype_kind::int8: f(std::int8_t{}); return true;
    case dtype_kind::uint8: f(std::uint8_t{}); return true;
    case dtype_kind::int16: f(std::int16_t{}); return true;
    case dtype_kind::uint16: f(std::uint16_t{}); return true;
    default: return false;
  }
}

/// Whether zfp, which sees an array of numbers, can work on memory of a caller.
inline bool is_zfp_aligned(const void* data, std::size_t size) {
  return reinterpret_cast<std::uintptr_t>(data) % size == 0;
}

/// What zfp is to see of `view`, dense; `held` is the memory of a copy.
inline result<const std::byte*> elements_for_zfp(const host_view& view, buffer& held,
                                                 memory_resource& memory) {
  ZARRPOINT_TRY(count, element_count(view.shape));
  const auto n = static_cast<std::size_t>(count);
  const std::byte* data = view.data;
  if (!is_dense(view) || !is_zfp_aligned(data, view.type.size())) {
    ZARRPOINT_TRY(copy, buffer::allocate(n * view.type.size(), memory));
    copy_elements(dense_view(copy.bytes().data(), view.spec()), view);
    held = std::move(copy);
    data = held.bytes().data();
  }
  if (view.type.size() < 4) {
    ZARRPOINT_TRY(wide, buffer::allocate(n * 4, memory));
    auto* const to = reinterpret_cast<std::int32_t*>(wide.bytes().data());
    with_small_integer(
        view.type, [&]<class T>(T) { promote_for_zfp(to, reinterpret_cast<const T*>(data), n); });
    held = std::move(wide);
    return held.bytes().data();
  }
  if (view.type.is_unsigned_integer()) {
    // The highest bit is that of the sign.
    const std::size_t size = view.type.size();
    for (std::size_t i = 0; i < n; ++i) {
      if ((data[i * size + size - 1] & std::byte{0x80}) != std::byte{})
        return error{errc::out_of_range,
                     "an unsigned integer is too large: zfp has signed types only"};
    }
  }
  return data;
}

/// `from` is dense, in the type of `zfp_type_of`.
inline void elements_from_zfp(const mutable_host_view& to, mutable_bytes from) {
  const std::size_t n = from.size() / (to.type.size() < 4 ? 4 : to.type.size());
  if (to.type.size() < 4) {
    // Forwards in place: narrow elements end before the wide ones that are still to be read.
    with_small_integer(to.type, [&]<class T>(T) {
      for (std::size_t i = 0; i < n; ++i) {
        std::int32_t wide = 0;
        T narrow{};
        std::memcpy(&wide, from.data() + 4 * i, sizeof wide);
        demote_from_zfp(&narrow, &wide, 1);
        std::memcpy(from.data() + i * sizeof narrow, &narrow, sizeof narrow);
      }
    });
  } else if (to.type.is_unsigned_integer()) {
    const std::size_t size = to.type.size();
    for (std::size_t i = 0; i < n; ++i) {
      std::byte* const one = from.data() + i * size;
      if ((one[size - 1] & std::byte{0x80}) != std::byte{}) std::memset(one, 0, size);
    }
  }
  copy_elements(to, dense_view(std::as_const(from).data(), to.spec()));
}

/// The bytes of a stream with a header, at most; `check_zfp_parameters` was asked.
inline std::uint64_t zfp_stream_bytes(const zfp_stream& stream, const zfp_field& field) {
  const std::uint64_t bits = zfp_block_bits(stream, field) * zfp_field_blocks(&field);
  return (ZFP_HEADER_MAX_BITS + bits + 63) / 64 * 8;
}

inline result<std::uint64_t> zfp_bound(const zfp_options& how, const zfp_field& field) {
  zfp_stream stream{};
  ZARRPOINT_CHECK(set_zfp_mode(stream, how, field));
  return zfp_stream_bytes(stream, field);
}

/// The bytes that zfp may read of a stream of `stored` bytes with zeros behind them: a block that
/// begins in the stored ones is as long as can be, and one of zeros has a bit for each bit plane
/// at most.
inline std::uint64_t zfp_readable_bytes(const zfp_stream& stream, const zfp_field& field,
                                        std::uint64_t stored) {
  const std::uint64_t zeros = std::max(stream.minbits, zfp_precision(field.type));
  const std::uint64_t bits =
      ZFP_HEADER_MAX_BITS + zfp_block_bits(stream, field) + zeros * zfp_field_blocks(&field);
  return std::min(zfp_stream_bytes(stream, field), stored + (bits + 63) / 64 * 8);
}

inline result<std::size_t> zfp_encode(const host_view& from, mutable_bytes to,
                                      const zfp_options& how, bool header,
                                      codec_workspace& scratch) {
  ZARRPOINT_TRY(field, zfp_field_of(from.spec()));
  ZARRPOINT_TRY(bound, zfp_bound(how, field));
  if (to.size() < bound) return error{errc::out_of_range, "the output does not fit"};
  buffer copy;
  ZARRPOINT_TRY(data, elements_for_zfp(from, copy, scratch.resource()));
  ZARRPOINT_TRY(made, buffer::allocate(static_cast<std::size_t>(bound), scratch.resource()));
  const zfp_bits bits(made.bytes());
  if (bits.get() == nullptr) return no_zfp_memory();
  ZARRPOINT_CHECK(set_zfp_mode(*bits.get(), how, field));
  // zfp does not write to its input; its interface is older than const.
  field.data = const_cast<std::byte*>(data);
  if (header && zfp_write_header(bits.get(), &field, ZFP_HEADER_FULL) == 0)
    return error{errc::unsupported, "the chunk is too large for the header of zfp"};
  const std::size_t size = zfp_compress(bits.get(), &field);
  if (size == 0 || size > made.size()) return error{errc::out_of_range, "zfp has failed"};
  // zfp may be built to write bytes, as Debian's is; most are not, and read words of eight.
  const std::size_t padded = (size + 7) / 8 * 8;
  std::memcpy(to.data(), made.bytes().data(), size);
  std::memset(to.data() + size, 0, padded - size);
  return padded;
}

/// Reads the header at the start of a stream; what it says of the elements is checked.
inline result<void> read_zfp_header(zfp_stream& stream, zfp_field& field) {
  zfp_field told{};
  if (zfp_read_header(&stream, &told, ZFP_HEADER_FULL) == 0)
    return error{errc::corrupt, "the header of zfp is missing or damaged"};
  const auto count = [](const zfp_field& of) {
    std::uint64_t out = 1;
    for (const std::size_t one : {of.nx, of.ny, of.nz, of.nw}) {
      if (one != 0 && __builtin_mul_overflow(out, std::uint64_t{one}, &out)) out = 0;
    }
    return out;
  };
  if (told.type != field.type || told.nx == 0 || count(told) != count(field))
    return error{errc::corrupt, "the header of zfp states another type or number of elements"};
  field.nx = told.nx;
  field.ny = told.ny;
  field.nz = told.nz;
  field.nw = told.nw;
  auto status = check_zfp_parameters(stream, field);
  if (!status) return error{errc::corrupt, status.failure().message};
  return {};
}

/// The parameters of a stream: those of its header, or `how`.
inline result<void> prepare_zfp(zfp_stream& stream, const zfp_options* how, zfp_field& field) {
  return how != nullptr ? set_zfp_mode(stream, *how, field) : read_zfp_header(stream, field);
}

/// `how` null: as the header says.
inline result<void> zfp_decode(bytes_view stored, const mutable_host_view& into,
                               const zfp_options* how, codec_workspace& scratch) {
  ZARRPOINT_TRY(field, zfp_field_of(into.spec()));
  std::array<std::uint64_t, 4> head{};  // a header has 148 bits at most
  if (!stored.empty())
    std::memcpy(head.data(), stored.data(), std::min(stored.size(), sizeof head));
  std::uint64_t room = 0;
  {
    const zfp_bits bits({reinterpret_cast<std::byte*>(head.data()), sizeof head});
    if (bits.get() == nullptr) return no_zfp_memory();
    ZARRPOINT_CHECK(prepare_zfp(*bits.get(), how, field));
    // Each block has its least, so that few bytes cannot ask for much memory, nor for much time.
    const std::uint64_t least = std::max(bits.get()->minbits, 1U) * zfp_field_blocks(&field) / 8;
    if (least > stored.size()) return error{errc::corrupt, "stream truncated"};
    if (stored.size() > zfp_stream_bytes(*bits.get(), field) + 8)
      return error{errc::corrupt, "bytes after the stream"};
    // Words of eight are read whole, also the last one.
    const std::uint64_t readable = zfp_readable_bytes(*bits.get(), field, stored.size());
    room = std::max<std::uint64_t>(readable, stored.size()) / 8 * 8 + 16;
  }
  ZARRPOINT_TRY(held, buffer::allocate(static_cast<std::size_t>(room), scratch.resource()));
  if (!stored.empty()) std::memcpy(held.bytes().data(), stored.data(), stored.size());
  std::memset(held.bytes().data() + stored.size(), 0, held.bytes().size() - stored.size());
  const zfp_bits bits(held.bytes());
  if (bits.get() == nullptr) return no_zfp_memory();
  ZARRPOINT_CHECK(prepare_zfp(*bits.get(), how, field));
  ZARRPOINT_TRY(count, element_count(into.shape));
  const std::size_t size = dtype(zfp_elements(field.type)).size();
  const bool in_place =
      is_dense(into) && into.type == zfp_elements(field.type) && is_zfp_aligned(into.data, size);
  buffer wide;
  if (!in_place) {
    ZARRPOINT_TRY(made,
                  buffer::allocate(static_cast<std::size_t>(count) * size, scratch.resource()));
    wide = std::move(made);
  }
  field.data = in_place ? into.data : wide.bytes().data();
  const std::size_t used = zfp_decompress(bits.get(), &field);
  if (used == 0) return error{errc::corrupt, "zfp cannot read the stream"};
  const std::size_t word = std::max<std::size_t>(stream_word_bits / 8, 1);
  if (used > (stored.size() + word - 1) / word * word)
    return error{errc::corrupt, "stream truncated"};
  const bytes_view rest = stored.subspan(std::min(used, stored.size()));
  const bool is_padding =
      rest.size() < 8 &&
      std::all_of(rest.begin(), rest.end(), [](std::byte one) { return one == std::byte{}; });
  if (!is_padding) return error{errc::corrupt, "bytes after the stream"};
  if (!in_place) elements_from_zfp(into, wide.bytes());
  return {};
}

/// A number of a configuration that is not negative, as `node` has it.
inline result<double> zfp_number(const configuration_reader& reader, std::string_view key) {
  const node* const found = reader.find(key);
  const auto number = found == nullptr ? std::nullopt : found->to_double();
  if (!number || !std::isfinite(*number))
    return error{errc::invalid_argument, "\"" + std::string(key) + "\" must be a number"};
  return *number;
}

}  // namespace detail

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>

#include <zfp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

// What zfp is told of a chunk, and how large its streams may become. That library checks no bounds:
// what these functions let pass keeps it within the bits that they count.
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

/// The bytes that zfp may read of a stream of `stored` bytes with zeros behind them. A block that
/// begins in the stored ones is as long as can be, and one of zeros has a bit for each bit plane at
/// most.
inline std::uint64_t zfp_readable_bytes(const zfp_stream& stream, const zfp_field& field,
                                        std::uint64_t stored) {
  const std::uint64_t zeros = std::max(stream.minbits, zfp_precision(field.type));
  const std::uint64_t bits =
      ZFP_HEADER_MAX_BITS + zfp_block_bits(stream, field) + zeros * zfp_field_blocks(&field);
  return std::min(zfp_stream_bytes(stream, field), stored + (bits + 63) / 64 * 8);
}

}  // namespace detail

}}  // namespace zarrpoint::v0

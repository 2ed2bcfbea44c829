// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/zfp/zfp_elements.hpp>
#include <zarrpoint/codec/zfp/zfp_parameters.hpp>

#include <zfp.h>

// A chunk as a stream of zfp, and back. That library checks no bounds. What it writes has room for
// all that the parameters of a stream allow. What it reads has zeros behind it, as many as blocks
// of zeros can take.
namespace zarrpoint { inline namespace v0 { namespace detail {

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
    if (least > stored.size()) return error{errc::corrupt, "the stream is truncated"};
    if (stored.size() > zfp_stream_bytes(*bits.get(), field) + 8)
      return error{errc::corrupt, "bytes follow the stream"};
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
    return error{errc::corrupt, "the stream is truncated"};
  const bytes_view rest = stored.subspan(std::min(used, stored.size()));
  const bool is_padding =
      rest.size() < 8 &&
      std::all_of(rest.begin(), rest.end(), [](std::byte one) { return one == std::byte{}; });
  if (!is_padding) return error{errc::corrupt, "bytes follow the stream"};
  if (!in_place) elements_from_zfp(into, wide.bytes());
  return {};
}

}}}  // namespace zarrpoint::v0::detail

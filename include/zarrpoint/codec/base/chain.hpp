// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/source.hpp>
#include <zarrpoint/codec/base/workspace.hpp>

#include <cstring>
#include <optional>
#include <span>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// What is known of the number of bytes between two codecs.
struct byte_size {
  std::uint64_t bound = UINT64_MAX;  ///< the most that our encoder makes
  bool exact = false;                ///< never less

  /// What a decoder may make: other encoders may need more than ours, by flushing small blocks.
  std::uint64_t limit() const noexcept {
    constexpr std::uint64_t slack = 64 * 1024;
    if (exact || bound > (UINT64_MAX - slack) / 2) return bound;
    return 2 * bound + slack;
  }
};

}  // namespace detail

/// The codecs of an array, bound to the dtype and shape of its chunks: turns one chunk into stored
/// bytes and back. Immutable: one chain serves every chunk and every thread; what a thread needs of
/// its own lives in a workspace.
class codec_chain {
 public:
  using workspace = codec_workspace;

  /// The most codecs in a chain: real ones have up to five.
  static constexpr std::size_t max_codecs = 32;

  /// Binds `codecs`, in the order of the metadata, to chunks of `chunk`. Errors: `unsupported` for
  /// a codec that `known` does not hold (one that need not be understood is left out, and the chain
  /// can then only decode); `invalid_argument` for configurations and orders that make no sense.
  static result<codec_chain> resolve(std::span<const codec_spec> codecs, const tensor_spec& chunk,
                                     const codec_table& known);
  /// The same with codecs of any source, of elements whose fill value is `fill`.
  static result<codec_chain> resolve(std::span<const codec_spec> codecs, const tensor_spec& chunk,
                                     const detail::codec_source& known, bytes_view fill);

  const tensor_spec& chunk_spec() const noexcept { return chunk_; }

  /// Whether every chunk is stored in exactly `encoded_bound()` bytes.
  bool fixed_size() const noexcept { return sizes_.back().exact; }
  /// The most bytes that `encode` makes of a chunk; UINT64_MAX for variable-length elements.
  std::uint64_t encoded_bound() const noexcept { return sizes_.back().bound; }
  /// The most stored bytes that a reader should accept for a chunk: `encoded_bound()` when the size
  /// is fixed, else with room for encoders less thrifty than ours. It is UINT64_MAX for
  /// variable-length elements.
  std::uint64_t stored_limit() const noexcept { return sizes_.back().limit(); }

  /// The most bytes that `encode` makes of this chunk, also for variable-length elements. Errors:
  /// those of the codec that turns them into bytes.
  result<std::uint64_t> encoded_bound(const host_view& chunk) const;

  /// Whether the stored bytes are the elements as they lie in memory: row-major, native byte order
  /// and nothing else. Never for bool, whose untrusted bytes may be invalid, nor for strings.
  bool is_raw() const noexcept { return raw_; }
  /// Whether the last four stored bytes are a crc32c, little-endian, of those before them.
  bool ends_with_crc32c() const;
  /// False when a codec was left out because it need not be understood.
  bool can_encode() const noexcept { return skipped_.empty(); }

  /// Encodes a chunk. The bytes lie in the workspace until its next use, or in `chunk` itself when
  /// they are what would be stored. Errors: `shape_mismatch`, `dtype_mismatch` when `chunk`
  /// is not of the chain's spec; `resource_limit`; what a codec says.
  result<bytes_view> encode(const host_view& chunk, workspace& scratch) const;

  /// Decodes the stored bytes of a chunk into memory of any strides. Where codec and layout allow
  /// it the last step writes straight into `into`. Errors: `corrupt` for anything but the exact
  /// size and content, and then `into` may hold parts of the chunk; `resource_limit`.
  result<void> decode(bytes_view stored, const mutable_host_view& into, workspace& scratch) const;

  /// The memory of `into` when the stored bytes may be read straight into it: the chain is raw and
  /// `into` dense and of the chain's spec.
  std::optional<mutable_bytes> direct_target(const mutable_host_view& into) const;

  /// Whether `decode` to `into` takes no memory of the size of a chunk but that of `into`.
  bool decodes_into(const mutable_host_view& into) const;

 private:
  using byte_size = detail::byte_size;

  static constexpr std::size_t first_bytes_slot = codec_workspace::caller_slots;
  static constexpr std::size_t first_array_slot = first_bytes_slot + 2;

  const detail::erased_array_bytes_codec& array_bytes() const;

  result<void> add(const any_codec& made, tensor_spec& spec, std::vector<std::byte>& fill);
  result<void> check_spec(const tensor_spec& given) const;
  mutable_host_view array_target(mutable_host_view into) const;

  result<bytes_view> encode_arrays(std::size_t i, const host_view& view, workspace& scratch) const;
  result<bytes_view> encode_bytes(const host_view& view, workspace& scratch) const;
  result<void> decode_arrays(std::size_t i, bytes_view stored, const mutable_host_view& into,
                             workspace& scratch) const;
  result<void> decode_bytes(bytes_view stored, const mutable_host_view& into,
                            workspace& scratch) const;
  result<bytes_view> decode_step(std::size_t i, bytes_view stored, std::size_t slot,
                                 workspace& scratch) const;

  /// More than the exact size: for the caller of a chain that is a fault of the bytes.
  static result<std::size_t> as_corrupt(error failure);
  static error wrong_size(std::uint64_t made, std::uint64_t expected);
  static error over_limit(std::uint64_t bytes, std::uint64_t limit, bool variable);
  result<std::size_t> with_room(std::size_t i, std::uint64_t bytes) const;

  tensor_spec chunk_;
  std::vector<any_codec> array_codecs_;
  std::vector<tensor_spec> array_specs_;      ///< what each of them makes
  std::vector<any_codec> array_bytes_codec_;  ///< one, after `resolve`
  std::vector<any_codec> byte_codecs_;
  std::vector<byte_size> sizes_;  ///< after the array -> bytes codec, and after each byte codec
  std::string skipped_;           ///< the quoted name of a codec that was left out
  bool views_only_ = true;        ///< array codecs that rearrange nothing
  bool raw_ = false;
};

}}  // namespace zarrpoint::v0

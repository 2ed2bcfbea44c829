// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/dtype.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// The words of which differences are made: 1, 2, 4 or 8 bytes of an element; 0 for elements of
/// variable length, which have none.
std::size_t difference_word(const dtype& type) noexcept;

/// Elements of a chunk before and after, little-endian, of the same size and word.
struct changed_elements {
  bytes_view base;
  bytes_view result;
  std::size_t word;
};

/// Writes what differs, of less than 4 GiB, or all of the result where that is smaller. `to` has a
/// byte more than the result. The bytes do not depend on the processor. Errors: `resource_limit`.
result<std::size_t> encode_difference(const changed_elements& from, mutable_bytes to,
                                      codec_workspace& scratch);

/// What stored bytes say before they are looked into.
struct difference_head {
  bool is_whole = false;       ///< all elements are there, and no base is needed
  std::uint32_t base_crc = 0;  ///< crc32c of the elements of the base
};

/// Errors: `corrupt`.
result<difference_head> read_difference_head(bytes_view stored);

/// Makes elements of the base those of the result, in place. After an error they may be neither.
/// Takes 64 KiB of scratch memory at most. Errors: `corrupt`; `resource_limit`.
result<void> apply_difference(bytes_view stored, mutable_bytes elements, std::size_t word,
                              codec_workspace& scratch);

}  // namespace detail

/// The codec `zarrpoint.delta` of the arrays of a delta: what differs from the chunk of the base,
/// or the whole chunk (docs/format.md, "A delta"). It stands in place of `bytes`. Alone it knows no
/// base: it encodes whole chunks, decodes whole ones, and refuses others.
struct difference_codec {
  static constexpr std::string_view name = "zarrpoint.delta";
  static constexpr bool fixed_size = false;

  void fields(configuration_fields& all) { all.none(); }
  /// Errors: `unsupported` for elements of variable length, and on a big-endian machine.
  result<difference_codec> resolve(const tensor_spec& decoded) const;

  std::uint64_t encoded_bound(const tensor_spec& decoded) const;
  result<std::uint64_t> encoded_size(const host_view& from) const;
  result<std::size_t> encode(const host_view& from, mutable_bytes to, codec_workspace&) const;
  /// Errors: `corrupt`; `unsupported` for what differs from a base.
  result<void> decode(bytes_view stored, const mutable_host_view& into, codec_workspace&) const;
};

}}  // namespace zarrpoint::v0

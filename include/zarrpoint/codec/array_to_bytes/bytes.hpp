// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/core/types/record.hpp>
#include <zarrpoint/memory/loop_nest.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

/// What decoding does to one scalar of a record, besides copying it.
struct scalar_fix {
  std::size_t offset = 0;  ///< in the record
  std::size_t swap = 1;    ///< bytes to be reversed
  bool truth = false;      ///< any byte but 0 is 1
  std::uint8_t bits = 8;   ///< of a byte, that are kept
};

}  // namespace detail

/// The codec `bytes`: the elements in row-major order, in one byte order. Complex numbers are real
/// part, imaginary part; bool is one byte, 0 or 1; records go field by field (Zarr v3 codecs,
/// "bytes"). Any other byte that is found for a bool decodes to true; the unused bits of a type
/// below a byte decode to 0.
struct bytes_codec {
  static constexpr std::string_view name = "bytes";
  static constexpr std::array<std::string_view, 1> aliases{"endian"};  // early v3 files
  static constexpr bool fixed_size = true;

  bytes_codec() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): what it is made of is all that it is
  bytes_codec(std::optional<endian> byte_order) : order(byte_order) {}

  /// Needed for scalars of more than one byte; but zarr-python 3.1 leaves it out for records, whose
  /// fields it writes little-endian.
  std::optional<endian> order{};
  /// Of a Zarr v2 record whose fields differ in it: the order of each, records in records taken
  /// apart. Zarr v3 has no such thing, and it is not written there.
  std::vector<endian> field_orders{};

  void fields(configuration_fields& all);
  result<bytes_codec> resolve(const tensor_spec& decoded) const;

  std::uint64_t encoded_bound(const tensor_spec& decoded) const;
  /// See the note on bool and small types above: their bytes are looked at.
  bool is_raw(const tensor_spec& decoded) const;
  std::optional<bytes_view> borrow(const host_view& from) const;
  std::optional<mutable_bytes> target(const mutable_host_view& into) const;

  result<std::size_t> encode(const host_view& from, mutable_bytes to, codec_workspace&) const;
  result<void> decode(bytes_view stored, const mutable_host_view& into, codec_workspace&) const;

 private:
  /// Records take a step for each of these in each element.
  static constexpr std::size_t max_fixes = 4096;

  /// Whether all elements are swapped alike.
  bool swaps(const dtype& type) const;
  static bool is_fixed(const dtype& type);
  template <class F>
  void for_each_fix(mutable_bytes elements, std::size_t size, const F& f) const {
    if (fixes_.empty()) return;
    for (std::size_t at = 0; at < elements.size(); at += size)
      for (const detail::scalar_fix& fix : fixes_) f(elements.data() + at + fix.offset, fix);
  }

  result<void> find_fixes(const dtype& type, std::size_t at, std::size_t& field);
  result<void> add_fixes(const dtype& type, std::size_t at, std::size_t field);

  std::vector<detail::scalar_fix> fixes_{};  // of a record
};

namespace detail {

std::string_view name_of(endian order);

}  // namespace detail

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>

#include <span>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

class any_codec;
struct codec_place;

/// One codec of a table.
struct codec_entry {
  std::string_view name;
  std::span<const std::string_view> aliases;
  codec_kind kind;
  result<any_codec> (*make)(const json& configuration, const codec_place& place);

  constexpr bool answers_to(std::string_view wanted) const noexcept {
    if (wanted == name) return true;
    for (const std::string_view alias : aliases) {
      if (wanted == alias) return true;
    }
    return false;
  }
};

/// The codecs that are known at run time: a handle to the constant table of a `codec_registry`.
class codec_table {
 public:
  /// No codecs at all.
  constexpr codec_table() = default;
  constexpr explicit codec_table(std::span<const codec_entry> entries) : entries_(entries) {}

  constexpr std::span<const codec_entry> entries() const noexcept { return entries_; }
  const codec_entry* find(std::string_view name) const noexcept {
    for (const codec_entry& entry : entries_) {
      if (entry.answers_to(name)) return &entry;
    }
    return nullptr;
  }

  /// The codec that `spec` names. Errors: `unsupported`, with the header to include when the
  /// library has one, or why it has none; `invalid_argument` for a configuration that makes no
  /// sense. With what it will encode, elements that are `fill` where nothing was written, it may be
  /// a codec that holds others of this table.
  result<any_codec> make(const codec_spec& spec, const tensor_spec* decoded = nullptr,
                         bytes_view fill = {}) const;

 private:
  std::span<const codec_entry> entries_;
};

/// Where a codec stands: what `from_configuration` may ask for.
struct codec_place {
  codec_table known;                     ///< that it was found in
  const tensor_spec* decoded = nullptr;  ///< what it will encode; null where nobody knows it
  bytes_view fill{};                     ///< an element of that; empty where nobody knows it
};

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>
#include <zarrpoint/codec/base/spec.hpp>
#include <zarrpoint/codec/base/table.hpp>
#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace zarrpoint { inline namespace v0 {

/// The codec `n5_default`, read only. A chunk is a block of N5 in its default mode: a header with
/// the block's own shape and then the elements, the first axis fastest, big-endian
/// (zarr-extensions, "n5_default"). A block smaller than its chunk is padded with the fill value, a
/// larger one is cut; one of more than 64 times the elements is `resource_limit`.
class n5_codec {
 public:
  static constexpr std::string_view name = "n5_default";
  static constexpr bool fixed_size = false;

  /// Always `unsupported`: it cannot be made without the place in a chain.
  static result<n5_codec> from_configuration(const json&);
  /// With inner codecs of the same table. Errors: `invalid_argument`, `unsupported`.
  static result<n5_codec> from_configuration(const json& configuration, const codec_place& place);
  json configuration() const { return written_; }

  /// No bound: a block may be larger than its chunk.
  std::uint64_t encoded_bound(const tensor_spec&) const { return UINT64_MAX; }
  /// Always `unsupported`.
  result<std::uint64_t> encoded_size(const host_view& from) const;
  /// Always `unsupported`.
  result<std::size_t> encode(const host_view& from, mutable_bytes to,
                             codec_workspace& scratch) const;
  result<void> decode(bytes_view stored, const mutable_host_view& into,
                      codec_workspace& scratch) const;

 private:
  struct inner_codecs {
    std::vector<codec_spec> specs;
    codec_table known;
    std::vector<std::byte> fill;
  };

  static result<codec_spec> read_spec(const json& value);
  static result<void> check_codecs(const std::vector<codec_spec>& codecs, const tensor_spec& chunk);
  static result<dims> read_shape(bytes_view stored, std::size_t rank);

  json written_;
  std::shared_ptr<const inner_codecs> inner_;
};

}}  // namespace zarrpoint::v0

// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/concepts.hpp>

#include <cstdint>
#include <string_view>

namespace zarrpoint { inline namespace v0 {

/// The codec `transpose`: axis i of the encoded array is axis `order[i]` of the decoded one (Zarr
/// v3 codecs, "transpose"). Moves no data: the next codec sees the same memory with other strides.
struct transpose_codec {
  static constexpr std::string_view name = "transpose";
  /// The forms of the configuration: a permutation, or one of two names that early v3 files use.
  enum class form : std::uint8_t { permutation, c, f };

  dims order;
  form given = form::permutation;

  void fields(configuration_fields& all);

  result<transpose_codec> resolve(const tensor_spec& decoded) const;

  tensor_spec encoded_spec(const tensor_spec& decoded) const;
  host_view encode_view(const host_view& decoded) const;
  mutable_host_view decode_view(const mutable_host_view& into) const;

 private:
  dims permuted(const dims& of) const;
  static bool is_permutation(const dims& order);
  static error not_a_permutation();
};

}}  // namespace zarrpoint::v0

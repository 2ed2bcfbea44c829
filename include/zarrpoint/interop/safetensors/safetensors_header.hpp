// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/bytes.hpp>
#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The safetensors format: 8 bytes little-endian length of the header, the header in JSON, the
/// elements. https://huggingface.co/docs/safetensors/index#format
namespace zarrpoint { inline namespace v0 { namespace safetensors {

namespace detail {

/// The largest header that the format allows.
inline constexpr std::uint64_t max_header_bytes = 100'000'000;
/// The data of the files that we write begins at a multiple of so many bytes; 8 is customary.
inline constexpr std::size_t data_alignment = 64;

}  // namespace detail

/// What a file says about itself under `__metadata__`.
using metadata_map = std::map<std::string, std::string>;

/// One tensor of a file: little-endian, row-major, without gaps. Elements of fewer than eight bits
/// are packed there, the first in the lowest bits.
struct tensor_info {
  std::string name;
  tensor_spec spec;           ///< the dtype is `invalid` where it is none of ours
  std::uint64_t offset = 0;   ///< of its first byte, counted from the end of the header
  std::uint64_t bytes = 0;    ///< in the file
  std::string stored_type{};  ///< what the file calls a dtype that is none of ours

  friend bool operator==(const tensor_info&, const tensor_info&) = default;
};

/// A checked header.
struct header {
  std::vector<tensor_info> tensors;  ///< in the order of their data, which they tile from 0
  metadata_map metadata;

  friend bool operator==(const header&, const header&) = default;
};

namespace detail {

/// The format's name of a dtype, e.g. `"BF16"`; nothing for those it has no name for.
constexpr std::optional<std::string_view> dtype_name(dtype type) noexcept {
  switch (type.kind()) {
    case dtype_kind::bool_: return "BOOL";
    case dtype_kind::int8: return "I8";
    case dtype_kind::int16: return "I16";
    case dtype_kind::int32: return "I32";
    case dtype_kind::int64: return "I64";
    case dtype_kind::uint8: return "U8";
    case dtype_kind::uint16: return "U16";
    case dtype_kind::uint32: return "U32";
    case dtype_kind::uint64: return "U64";
    case dtype_kind::float4_e2m1fn: return "F4";
    case dtype_kind::float6_e2m3fn: return "F6_E2M3";
    case dtype_kind::float6_e3m2fn: return "F6_E3M2";
    case dtype_kind::float8_e4m3fn: return "F8_E4M3";
    case dtype_kind::float8_e4m3fnuz: return "F8_E4M3FNUZ";
    case dtype_kind::float8_e5m2: return "F8_E5M2";
    case dtype_kind::float8_e5m2fnuz: return "F8_E5M2FNUZ";
    case dtype_kind::float8_e8m0fnu: return "F8_E8M0";
    case dtype_kind::float16: return "F16";
    case dtype_kind::bfloat16: return "BF16";
    case dtype_kind::float32: return "F32";
    case dtype_kind::float64: return "F64";
    case dtype_kind::complex64: return "C64";
    default: break;
  }
  return std::nullopt;
}

/// The dtype of that name, if it is one of ours.
constexpr std::optional<dtype> dtype_named(std::string_view name) noexcept {
  for (const dtype_kind kind : all_dtype_kinds) {
    if (dtype_name(kind) == name) return dtype(kind);
  }
  return std::nullopt;
}

using zarrpoint::detail::in_quotes;

std::string tensor_context(std::string_view name);

error broken(std::string message);

result<dims> parse_shape(const json& value);

/// The header in the JSON `text`, of a file with `data_bytes` bytes after it.
///
/// Errors: `corrupt` when it is not a JSON object of the format's schema, or has a key twice;
/// `corrupt` when its tensors do not tile the data from 0 to the end without holes and overlaps,
/// each with the bytes of its shape; `unsupported` naming a member that is not known;
/// `out_of_range` for a shape or number beyond 63 bits; `resource_limit` above 4 million JSON
/// values, which is half a million tensors.
result<header> parse_header(bytes_view text, std::uint64_t data_bytes);

/// What a file of these tensors begins with: length, JSON, and spaces up to `data_alignment`. The
/// tensors must tile. Errors: `invalid_argument` for a name or text that is twice there, reserved
/// or not UTF-8; `unsupported` for a dtype that the format does not have; `resource_limit`.
result<std::string> dump_header(const header& from);

}  // namespace detail

}}}  // namespace zarrpoint::v0::safetensors

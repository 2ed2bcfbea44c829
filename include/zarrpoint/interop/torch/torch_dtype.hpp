// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/types/dtype.hpp>

#include <optional>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace torch {

/// PyTorch's name of a dtype in module `torch`, e.g. `"float8_e4m3fn"`; nothing for those that
/// PyTorch has not, or stores in another way than we do.
constexpr std::optional<std::string_view> dtype_name(dtype_kind kind) noexcept {
  switch (kind) {
    case dtype_kind::bool_:
    case dtype_kind::int8:
    case dtype_kind::int16:
    case dtype_kind::int32:
    case dtype_kind::int64:
    case dtype_kind::uint8:
    case dtype_kind::uint16:
    case dtype_kind::uint32:
    case dtype_kind::uint64:
    case dtype_kind::float8_e4m3fn:
    case dtype_kind::float8_e4m3fnuz:
    case dtype_kind::float8_e5m2:
    case dtype_kind::float8_e5m2fnuz:
    case dtype_kind::float8_e8m0fnu:
    case dtype_kind::float16:
    case dtype_kind::bfloat16:
    case dtype_kind::float32:
    case dtype_kind::float64:
    case dtype_kind::complex64:
    case dtype_kind::complex128: return to_string(dtype(kind));
    case dtype_kind::complex_float16: return "complex32";
    default: return std::nullopt;
  }
}

/// The dtype of that name.
constexpr std::optional<dtype> dtype_named(std::string_view name) noexcept {
  for (const dtype_kind kind : all_dtype_kinds)
    if (dtype_name(kind) == name) return dtype(kind);
  return std::nullopt;
}

/// The class of a storage of that type, e.g. `"FloatStorage"`; nothing for types that are younger
/// than these classes, whose storages have none.
constexpr std::optional<std::string_view> storage_name(dtype_kind kind) noexcept {
  switch (kind) {
    case dtype_kind::bool_: return "BoolStorage";
    case dtype_kind::int8: return "CharStorage";
    case dtype_kind::int16: return "ShortStorage";
    case dtype_kind::int32: return "IntStorage";
    case dtype_kind::int64: return "LongStorage";
    case dtype_kind::uint8: return "ByteStorage";
    case dtype_kind::float16: return "HalfStorage";
    case dtype_kind::bfloat16: return "BFloat16Storage";
    case dtype_kind::float32: return "FloatStorage";
    case dtype_kind::float64: return "DoubleStorage";
    case dtype_kind::complex_float16: return "ComplexHalfStorage";
    case dtype_kind::complex64: return "ComplexFloatStorage";
    case dtype_kind::complex128: return "ComplexDoubleStorage";
    default: return std::nullopt;
  }
}

/// The dtype of the elements of a storage class.
constexpr std::optional<dtype> storage_named(std::string_view name) noexcept {
  for (const dtype_kind kind : all_dtype_kinds)
    if (storage_name(kind) == name) return dtype(kind);
  return std::nullopt;
}

}}}  // namespace zarrpoint::v0::torch
